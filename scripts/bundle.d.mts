import type { BuildOptions } from 'esbuild'

/** Bundles a program into a new folder in `parent`, whose name begins with `name`. */
export function bundle(
  entry: string,
  options: BuildOptions & { readonly parent: string; readonly name: string },
): Promise<{ readonly folder: string; readonly path: string }>
