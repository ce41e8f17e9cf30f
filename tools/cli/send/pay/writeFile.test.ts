import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { replaceFile, whyUnwritten } from './writeFile.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-write-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('a file that cannot be written is named with the reason, and leaves no part of it behind', async () => {
  const path = join(folder, 'pay.csv.txlane.json')
  await mkdir(path)
  await expect(replaceFile(path, ['one'])).rejects.toThrow(`${path} cannot be written: `)
  expect(await readdir(folder)).toEqual(['pay.csv.txlane.json'])
})

test('the usual errors of a file system have words', () => {
  expect(whyUnwritten(Object.assign(new Error('x'), { code: 'ENOSPC' }))).toBe('the disk is full')
  expect(whyUnwritten(Object.assign(new Error('x'), { code: 'EROFS' }))).toBe('its folder can only be read')
  expect(whyUnwritten(new Error('of another kind'))).toBe('of another kind')
})
