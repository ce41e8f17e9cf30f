// Runs a TypeScript program as plain JavaScript: node scripts/runBundled.mjs FILE [ARGUMENTS].
//
// With a loader, each dynamic import (viem has some) would take a turn of the event loop, for which virtual
// time does not wait: on a busy machine a simulation would then have another result.
import { readFileSync, rmSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { bundle, cacheFolder } from './bundle.mjs'

// `import.meta.url` of a bundled file is the URL of its source, so that relative lookups work.
const ownPlace = {
  name: 'own-place',
  setup({ initialOptions, onLoad }) {
    initialOptions.define = { ...initialOptions.define, 'import.meta.url': 'ownUrl' }
    onLoad({ filter: /\.(?:ts|mjs)$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8').replace(/^#!.*/, '')
      const own = `const ownUrl = ${JSON.stringify(pathToFileURL(path).href)};`
      return { contents: `${own}${text}`, loader: 'ts' }
    })
  },
}

const [entry] = process.argv.splice(2, 1)
const folder = cacheFolder('txlane-run-')
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
await bundle({ main: entry }, folder, { packages: 'external', plugins: [ownPlace] })
await import(pathToFileURL(`${folder}/main.mjs`).href)
