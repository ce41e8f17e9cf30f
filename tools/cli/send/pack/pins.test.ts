import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pad } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Money, Row } from '../file/rows.js'
import { packedAttempt } from './packedAttempt.js'
import { openPins, type PinFile, readPins } from './pins.js'

const DISPERSE = pad('0xdd', { size: 20 })
const TOKEN = pad('0xc0', { size: 20 })
const ETH: Money = { kind: 'native', symbol: 'ETH' }
const rows = ['a', 'b', 'c'].map((id) => ({ id, to: DISPERSE, amount: 1n, money: ETH }) as unknown as Row)

let folder: string
let path: string
let open: PinFile[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-pins-'))
  path = join(folder, 'pay.csv.txlane.packs.jsonl')
})
afterEach(async () => {
  for (const file of open) await file.close()
  open = []
  await rm(folder, { recursive: true, force: true })
})

async function opened(): Promise<PinFile> {
  const file = await openPins(path)
  open.push(file)
  return file
}

test('a pack is on the disk before the call returns, and each has an id of its own', async () => {
  const first = await opened()
  const [one, two] = [await first.pack(DISPERSE, ETH, rows), await first.pack(DISPERSE, ETH, rows)]
  expect(one.pack).not.toBe(two.pack)
  expect((await readPins(path))?.packs).toEqual([one, two])
  const again = await opened()
  const three = await again.pack(DISPERSE, ETH, rows)
  expect(new Set([one, two, three].map(({ pack }) => pack)).size).toBe(3)
})

test('a line that a crash cut off is dropped, and a damaged one is refused', async () => {
  const file = await opened()
  const pin = await file.pack(DISPERSE, ETH, rows)
  await appendFile(path, '{"pack":"~pack-9","rows":["a"')
  expect((await readPins(path))?.packs).toEqual([pin])
  const next = await (await opened()).pack(DISPERSE, ETH, rows)
  expect((await readPins(path))?.packs).toEqual([pin, next])
  await writeFile(path, (await readFile(path, 'utf8')).replace('"rows"', '"rowz"'))
  await expect(readPins(path)).rejects.toThrow(/is damaged in line 2/)
  expect(await readPins(join(folder, 'none'))).toBeUndefined()
})

test('an approval is open until its end was seen', async () => {
  const file = await opened()
  await file.approval(TOKEN, DISPERSE, 7n)
  expect((await readPins(path))?.open).toMatchObject([{ token: TOKEN, spender: DISPERSE }])
  await file.released(TOKEN, DISPERSE)
  expect((await readPins(path))?.open).toEqual([])
  await file.approval(TOKEN, DISPERSE, 0n)
  expect((await readPins(path))?.open).toHaveLength(1)
})

test('of several transactions of a line, the one that runs or can run decides its state', async () => {
  const file = await opened()
  const [one, two] = [await file.pack(DISPERSE, ETH, rows), await file.pack(DISPERSE, ETH, rows.slice(1))]
  const find = packedAttempt(await readPins(path))
  const row = rows[1] as Row
  const stored = (stage: string, status?: string) => ({ stage, status }) as never
  const [reverted, paid, failed] = [
    stored('sealed', 'reverted'),
    stored('sealed', 'success'),
    stored('failed'),
  ]
  expect(find(new Map())(row)).toBeUndefined()
  expect(
    find(
      new Map([
        [one.pack, reverted],
        [two.pack, paid],
      ]),
    )(row),
  ).toBe(paid)
  expect(
    find(
      new Map([
        [one.pack, paid],
        [two.pack, reverted],
      ]),
    )(row),
  ).toBe(paid)
  expect(
    find(
      new Map([
        [row.id, failed],
        [one.pack, reverted],
      ]),
    )(row),
  ).toBe(reverted)
  expect(
    find(
      new Map([
        [row.id, paid],
        [one.pack, reverted],
        [two.pack, failed],
      ]),
    )(row),
  ).toBe(paid)
  expect(
    find(
      new Map([
        [one.pack, stored('queued')],
        [row.id, failed],
      ]),
    )(row),
  ).toEqual({ stage: 'queued' })
})
