// Runs a TypeScript program as plain JavaScript: node scripts/runBundled.mjs FILE [ARGUMENTS].
//
// With a loader in between, each dynamic import (viem has some) would take a turn of the event loop, for which virtual
// time does not wait: a busy machine would make a simulated world come out differently.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle } from './bundle.mjs'

// Inside node_modules, so that packages are found from there.
const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))

// What a file finds beside itself is beside its source.
const ownPlace = {
  name: 'own-place',
  setup({ initialOptions, onLoad }) {
    initialOptions.define = { ...initialOptions.define, 'import.meta.url': 'ownUrl' }
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8').replace(/^#!.*/, '')
      const own = `const ownUrl = ${JSON.stringify(pathToFileURL(path).href)};`
      return { contents: `${own}${text}`, loader: 'ts' }
    })
  },
}

const [entry] = process.argv.splice(2, 1)
mkdirSync(CACHE, { recursive: true })
const { folder, path } = await bundle(entry, {
  parent: CACHE,
  name: 'txlane-run-',
  packages: 'external',
  plugins: [ownPlace],
})
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
await import(pathToFileURL(path).href)
