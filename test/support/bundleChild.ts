import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'

// Inside node_modules, so that the drivers, which stay outside the bundle, are found.
export const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
const DRIVERS = ['libsql', 'pg', 'secp256k1', 'keccak', 'tiny-secp256k1', '@foundry-rs/anvil']

export type Bundle = AsyncDisposable & { readonly path: string }

/** A program as one file of plain JavaScript: children that are killed are started again and again. */
export async function bundleChild(entry: URL): Promise<Bundle> {
  const { TXLANE_CHILDREN: parent = CACHE } = process.env
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, 'txlane-child-'))
  await build({
    config: false,
    entry: { child: fileURLToPath(entry) },
    outDir: folder,
    format: 'esm',
    target: 'node20',
    noExternal: [/.*/],
    external: DRIVERS,
    // Some of what is bundled asks for modules of Node in the old way.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    splitting: true,
    clean: false,
    dts: false,
    silent: true,
  })
  const path = ['child.js', 'child.mjs'].map((name) => join(folder, name)).find((file) => existsSync(file))
  if (path === undefined) throw new Error(`the child was not bundled into ${folder}`)
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
    path = bundleChild(entry).then((bundle) => bundle.path)
    bundles.set(entry.href, path)
  }
  return path
}
