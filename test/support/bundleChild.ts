import { existsSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'

// Inside node_modules, so that the drivers, which stay outside the bundle, are found.
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
const DRIVERS = ['libsql', 'pg', 'secp256k1', 'keccak', 'tiny-secp256k1', '@foundry-rs/anvil']

export type Bundle = AsyncDisposable & { readonly path: string }

/** A program as one file of plain JavaScript: children that are killed are started again and again. */
export async function bundleChild(entry: URL): Promise<Bundle> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'txlane-child-'))
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
 * The same, once for each program and kept while this process lives. Through tsx each start would take seconds of
 * nothing but loading, one file of the dependencies after the other.
 */
export function bundleOnce(entry: URL): Promise<string> {
  let path = bundles.get(entry.href)
  if (path === undefined) {
    path = bundleChild(entry).then((bundle) => {
      process.once('exit', () => rmSync(dirname(bundle.path), { recursive: true, force: true }))
      return bundle.path
    })
    bundles.set(entry.href, path)
  }
  return path
}
