import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bundle, cacheFolder } from '../../scripts/bundle.mjs'

// They stay outside the bundle.
const DRIVERS = ['libsql', 'pg', 'secp256k1', 'keccak', 'tiny-secp256k1', '@foundry-rs/anvil']

export type Bundle = AsyncDisposable & { readonly path: string }

/** A program as one file, with all that it needs: children that are killed are started again and again. */
export async function bundleChild(entry: URL): Promise<Bundle> {
  const folder = cacheFolder('txlane-child-', process.env.TXLANE_CHILDREN)
  const path = await bundle(fileURLToPath(entry), folder, {
    external: DRIVERS,
    // Some of what is bundled asks for modules of Node in the old way.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
  })
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

const bundles = new Map<string, Promise<string>>()

/**
 * The same, once for each program, and kept: for tests, whose run has a folder for it. Through tsx each start would
 * take seconds of nothing but loading, one file of the dependencies after the other.
 */
export function bundleOnce(entry: URL): Promise<string> {
  let path = bundles.get(entry.href)
  if (path === undefined) {
    path = bundleChild(entry).then((bundled) => bundled.path)
    bundles.set(entry.href, path)
  }
  return path
}
