import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PACKAGE_VERSION, TxlaneError } from '../errors/base.js'
import { createStubSender, parse } from './recorder.fixture.js'
import { recordTo } from './recorder.js'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'txlane-recorder-'))
  path = join(folder, 'run.jsonl')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the file', () => {
  test('is created at once, readable by its owner only', async () => {
    await using recorder = recordTo(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(recorder.path).toBe(path)
  })

  test('contains several runs, one after the other', async () => {
    for (let life = 0; life < 2; life++) await recordTo(path).close()
    const events = parse(readFileSync(path, 'utf8')).map(({ event }) => event)
    expect(events).toEqual(['recording', 'closed', 'recording', 'closed'])
  })

  test('keeps its content, and starts a new line', async () => {
    writeFileSync(path, '{"torn')
    await recordTo(path).close()
    expect(readFileSync(path, 'utf8')).toMatch(/^\{"torn\n\{"at":\d+,"event":"recording"/)
  })

  test('is renamed when it reaches its maximum size, replacing the one before', async () => {
    const { sender, emit } = createStubSender()
    const recorder = recordTo(path, { rotateBytes: 1_024 })
    recorder.follow(sender)
    for (let round = 0; round < 40; round++) {
      emit('held', { reason: 'paused' })
      await recorder.flush()
    }
    await recorder.close()
    expect(existsSync(`${path}.1`)).toBe(true)
    for (const file of [path, `${path}.1`]) {
      expect(parse(readFileSync(file, 'utf8'))[0]?.event).toBe('recording')
      expect(statSync(file).size).toBeLessThan(2_048)
      expect(statSync(file).mode & 0o777).toBe(0o600)
    }
  })

  test('throws at once if it cannot be opened, with the path and the reason', () => {
    const nowhere = join(folder, 'missing', 'run.jsonl')
    const error = (() => {
      try {
        recordTo(nowhere)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(error).toBeInstanceOf(TxlaneError)
    expect(error).toMatchObject({ code: 'INVALID', details: expect.stringContaining('ENOENT') })
    expect((error as Error).message).toContain(nowhere)
    expect(() => recordTo(folder)).toThrow(/Invalid path/)
  })

  test.skipIf(!existsSync('/dev/full'))(
    'on a full disk (skipped without /dev/full) is given up, once',
    async () => {
      const errors: Error[] = []
      const recorder = recordTo('/dev/full', { onError: (error) => void errors.push(error) })
      await recorder.flush()
      await recorder.close()
      expect(errors).toHaveLength(1)
      expect(errors[0]).toMatchObject({ code: 'STORE', details: expect.stringContaining('ENOSPC') })
    },
  )
})

describe('the options', () => {
  test.each([
    ['path', '', {}],
    ['path', 'file:///tmp/run.jsonl', {}],
    ['flushIntervalMs', 'run.jsonl', { flushIntervalMs: -1 }],
    ['bufferBytesMax', 'run.jsonl', { bufferBytesMax: Number.NaN }],
    ['rotateBytes', 'run.jsonl', { rotateBytes: 10 }],
    ['onError', 'run.jsonl', { onError: 1 as never }],
  ])('include an error for an invalid %s', (name, given, options) => {
    expect(() => recordTo(given, options)).toThrow(`Invalid ${name}`)
  })
})

test('the recorded version is the package’s own', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  expect(PACKAGE_VERSION).toBe(manifest.version)
})
