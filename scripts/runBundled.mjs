// Runs a TypeScript program as plain JavaScript: node scripts/runBundled.mjs FILE [ARGUMENTS].
//
// It starts in half the time that it takes through a loader, which goes from file to file. And with a loader in between,
// each dynamic import (viem has some) takes a turn of the event loop, for which virtual time does not wait: a busy
// machine would make a simulated world come out differently.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsup'

// Inside node_modules, so that packages are found from there.
const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))

// What a file finds beside itself is beside its source.
const ownPlace = {
  name: 'own-place',
  setup({ initialOptions, onLoad }) {
    initialOptions.define = { ...initialOptions.define, 'import.meta.url': 'ownUrl' }
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const own = `const ownUrl = ${JSON.stringify(pathToFileURL(path).href)};`
      return { contents: `${own}${readFileSync(path, 'utf8')}`, loader: 'ts' }
    })
  },
}

const [entry] = process.argv.splice(2, 1)
mkdirSync(CACHE, { recursive: true })
const folder = mkdtempSync(join(CACHE, 'txlane-run-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
await build({
  config: false,
  entry: { main: entry },
  outDir: folder,
  format: 'esm',
  target: 'node20',
  skipNodeModulesBundle: true,
  esbuildPlugins: [ownPlace],
  clean: false,
  dts: false,
  silent: true,
})
const main = readdirSync(folder).find((name) => /^main\.m?js$/.test(name))
await import(pathToFileURL(join(folder, main)).href)
