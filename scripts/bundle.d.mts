import type { BuildOptions } from 'esbuild'

/** A new folder, whose name begins with `name`, from which packages are found. @default parent node_modules/.cache */
export function cacheFolder(name: string, parent?: string): string

/** Bundles a program into a folder: the path of what is to be run. */
export function bundle(entry: string, folder: string, options: BuildOptions): Promise<string>
