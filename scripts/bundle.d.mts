import type { BuildOptions } from 'esbuild'

/** Creates a folder whose name begins with `name`, and from which imports of packages resolve. */
export function cacheFolder(name: string): string

/**
 * Bundles programs into a folder, each under its name, or its path below `outbase`, with the ending `.mjs`. If
 * bundling fails, the folder is removed.
 */
export function bundle(
  entryPoints: readonly string[] | Readonly<Record<string, string>>,
  folder: string,
  options: Omit<BuildOptions, 'entryPoints'>,
): Promise<void>
