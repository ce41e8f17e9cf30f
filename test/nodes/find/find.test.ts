import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findGeth } from './geth.js'
import { nodesFolder } from './nodesFolder.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-find-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A script that reports itself as a geth of this version. */
async function fakeGeth(name: string, version: string): Promise<string> {
  const file = join(folder, name, 'geth')
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, `#!/bin/sh\necho "geth version ${version}-stable-1e5b7a4c"\n`)
  await chmod(file, 0o755)
  return file
}

describe('geth', () => {
  test('is the binary that TXLANE_GETH names, and an error if that is not a geth', async () => {
    const given = await fakeGeth('given', '1.17.10')
    const onPath = await fakeGeth('path', '1.18.0')
    const PATH = join(onPath, '..')
    expect(await findGeth({ TXLANE_GETH: given, PATH })).toBe(given)
    await expect(findGeth({ TXLANE_GETH: join(folder, 'none'), PATH })).rejects.toThrow('TXLANE_GETH')
  })

  test('is the first on the PATH that is new enough', async () => {
    const old = await fakeGeth('old', '1.16.11')
    const first = await fakeGeth('first', '1.17.11')
    const second = await fakeGeth('second', '2.0.0')
    const env = { XDG_CACHE_HOME: folder }
    expect(await findGeth({ ...env, PATH: join(old, '..') })).toBeUndefined()
    const PATH = [old, first, second].map((file) => join(file, '..')).join(delimiter)
    expect(await findGeth({ ...env, PATH })).toBe(first)
  })
})

describe('the folder of built nodes', () => {
  test('is in the cache folder of the user on each system', () => {
    expect(nodesFolder({ XDG_CACHE_HOME: '/caches' }, 'linux')).toBe(join('/caches', 'txlane-nodes'))
    expect(nodesFolder({}, 'linux')).toBe(join(homedir(), '.cache', 'txlane-nodes'))
    expect(nodesFolder({}, 'darwin')).toBe(join(homedir(), 'Library', 'Caches', 'txlane-nodes'))
    expect(nodesFolder({ LOCALAPPDATA: '/local' }, 'win32')).toBe(join('/local', 'txlane-nodes'))
  })
})
