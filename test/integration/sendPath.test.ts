import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSender, memoryStore } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { type Frame, type SendPath, traceSend } from '../house/sendPath.js'
import { isHigher } from '../house/structure.js'

const FILES_MAX = 25
/** Calls from a folder into one that stands above it: the lower part was given a function of the higher one. */
const CLIMBS_MAX = 8

let devnet: Devnet
let path: SendPath

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
  const client = devnet.client()
  await using sender = createSender({ client, store: memoryStore() })
  const request = { to: client.account.address, value: 1n, gas: 21_000n } as const
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n } as const
  // The first transaction opens the lane.
  await (await sender.send({ ...request, ...fees })).wait('sealed')
  path = await traceSend(() => sender.send({ ...request, ...fees }))
})
afterAll(() => devnet.stop())

test('a transaction passes few files from `send` to the socket', () => {
  const files = [...new Set(path.flat().map(({ file }) => file))]
  expect(files).toContain('src/api/sender/sends.ts')
  expect(files).toContain('src/rpc/transports/http.ts')
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(FILES_MAX)
})

test('few calls on the way climb into a higher folder', () => {
  const climbs = [...new Set(path.flatMap((frames) => frames.flatMap(climbTo)))]
  expect(climbs).not.toEqual([])
  expect(climbs.length, climbs.join('\n')).toBeLessThanOrEqual(CLIMBS_MAX)
})

function climbTo(to: Frame, index: number, frames: readonly Frame[]): string[] {
  const from = frames[index - 1]
  return from && isHigher(to.file, from.file) ? [`${from.file} ${from.name} -> ${to.file} ${to.name}`] : []
}
