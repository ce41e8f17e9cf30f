import type { BuildOptions } from 'esbuild'

/** A new folder, whose name begins with `name`, from which packages are found. */
export function cacheFolder(name: string): string

/**
 * Bundles programs into a folder, each under its name, or its path below `outbase`, with the ending `.mjs`. Where that
 * fails the folder goes.
 */
export function bundle(
  entryPoints: readonly string[] | Readonly<Record<string, string>>,
  folder: string,
  options: Omit<BuildOptions, 'entryPoints'>,
): Promise<void>
