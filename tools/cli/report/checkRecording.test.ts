import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HEADER } from '../../report/report.fixture.js'
import { report } from './command.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'txlane-input-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const GIVE =
  /Give a file that txlane send paid, its journal \(FILE\.txlane\.json\) .* or a recording, which recordTo/

test.each<[what: string, content: string | Uint8Array, is: string]>([
  [
    'a file that was not paid',
    'to,amount\n',
    'pay.csv is no recording, and no file that was paid: there is no journal',
  ],
  ['a page', '<!doctype html>\n', 'pay.csv is a web page, and no recording'],
  [
    'a spreadsheet',
    Buffer.from('PK\x03\x04\0\0\0\0', 'latin1'),
    'pay.csv is no recording, and no file that was paid',
  ],
  [
    'a picture',
    Buffer.from('\x89PNG\0', 'latin1'),
    'pay.csv is an image (PNG), no recording, and no file that was paid',
  ],
  ['a plan of a dry run', '{\n "version": 1,', 'pay.csv is no recording'],
])('%s is called what it is, and the refusal says what to give', async (_, content, is) => {
  const path = join(folder, 'pay.csv')
  writeFileSync(path, content)
  for (const args of [[path], [path, '--json']]) {
    await expect(report(args)).rejects.toThrow(is)
    await expect(report(args)).rejects.toThrow(GIVE)
  }
})

test('a missing file and a folder are called so', async () => {
  const path = join(folder, 'none.csv')
  await expect(report([path])).rejects.toThrow(`There is no file ${path}. Give `)
  await expect(report([folder])).rejects.toThrow(`${folder} is a folder. Give `)
})

test('a recording without events is read as one', async () => {
  const path = join(folder, 'run.jsonl')
  writeFileSync(path, `${JSON.stringify(HEADER)}\n`)
  await expect(report([path])).rejects.toThrow('the recording is empty')
})
