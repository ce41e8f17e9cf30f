import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { anvil } from '../nodes/nodes/anvil.js'
import { geth } from '../nodes/nodes/geth.js'
import { hardhat } from '../nodes/nodes/hardhat.js'
import { openSetting } from '../nodes/run/runCase.js'
import { recordAnswers } from './record.js'

// Records the answers of running nodes that `answers.test.ts` decodes. Run it again for a new version of a
// node: `npm run answers`.
const folder = fileURLToPath(new URL('./recordings/', `file://${process.cwd()}/test/answers/`))
// anvil shows the blobs and the proofs of their cells in its blocks.
const CHARS_MAX = 2_000
const ITEMS_MAX = 100
function cutBlobs(_: string, value: unknown): unknown {
  if (typeof value === 'string' && value.length > CHARS_MAX) return value.slice(0, 66)
  return Array.isArray(value) && value.length > ITEMS_MAX ? value.slice(0, 1) : value
}
const says = (line: string): void => void process.stdout.write(`${line}\n`)
await mkdir(folder, { recursive: true })
for (const description of [geth, anvil, hardhat]) {
  await using setting = openSetting(description, await description.locate(says))
  const recorded = await recordAnswers(await setting.shared('manual'))
  await writeFile(`${folder}${description.name}.json`, `${JSON.stringify(recorded, cutBlobs)}\n`)
  says(`${description.name}: ${recorded.source}, types ${recorded.types.join(', ')}`)
}
process.exit(0)
