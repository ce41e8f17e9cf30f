import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, cacheFolder } from '../../scripts/bundle.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
// These packages stay outside the bundle.
const DRIVERS = ['libsql', 'pg', 'secp256k1', 'keccak', 'tiny-secp256k1', '@foundry-rs/anvil']

/**
 * Bundles programs, given by their paths from the root, with all dependencies. Children that are killed are
 * started again and again, and a loader would spend seconds of each start on reading the dependencies file
 * by file.
 */
export function bundleAll(
  programs: readonly string[],
  folder: string,
  options: { readonly alias?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  return bundle(
    programs.map((program) => join(ROOT, program)),
    folder,
    {
      outbase: ROOT,
      external: DRIVERS,
      // Some bundled packages load Node modules with `require`.
      banner: {
        js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
      },
      ...options,
    },
  )
}

/** The path at which `bundleAll` puts a program. */
function placeOf(program: URL, folder: string): string {
  return join(folder, relative(ROOT, fileURLToPath(program)).replace(/\.ts$/, '.mjs'))
}

/** A program that is bundled once for the whole test run; see `childrenFolder.ts`. */
export function bundledChild(program: URL): string {
  const path = placeOf(program, process.env.TXLANE_CHILDREN ?? '')
  if (!existsSync(path))
    throw new Error(`${program.pathname} is not among the programs of childrenFolder.ts.`)
  return path
}

export type Bundle = AsyncDisposable & { readonly path: string }

/** The same for use outside a test run: bundles the program now, and deletes the bundle on disposal. */
export async function bundleChild(program: URL): Promise<Bundle> {
  if (process.env.TXLANE_CHILDREN !== undefined)
    return { path: bundledChild(program), [Symbol.asyncDispose]: async () => {} }
  const folder = cacheFolder('txlane-child-')
  await bundleAll([relative(ROOT, fileURLToPath(program))], folder)
  return {
    path: placeOf(program, folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
