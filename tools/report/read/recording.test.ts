import { describe, expect, test } from 'vitest'
import { eventNames } from '../../../src/lane/emitter.js'
import { CLOSED, HEADER, itemsOf, LANE, reported, textOf, well } from '../report.fixture.js'

const kinds = async (text: string, size?: number) => (await itemsOf(text, size)).map(({ kind }) => kind)

describe('a recording is read', () => {
  test('line by line, for any chunk size', async () => {
    const text = textOf([HEADER, ...well(0, 1, 'ünïcode-✓'), CLOSED])
    for (const size of [1, 7, 100_000]) {
      const items = await itemsOf(text, size)
      expect(items.map(({ kind }) => kind)).toEqual(['life', ...Array(5).fill('event'), 'closed'])
      expect(items[1]).toMatchObject({ event: { id: 'ünïcode-✓', lane: LANE, event: 'queued' } })
    }
  })

  test('with every event of a sender', async () => {
    const text = textOf([HEADER, ...eventNames.map((event) => reported(1, event))])
    expect(await kinds(text)).toEqual(['life', ...eventNames.map(() => 'event')])
  })

  test('without a header, after a log rotation', async () => {
    expect(await kinds(textOf(well(0, 1)))).toEqual(Array(5).fill('event'))
  })

  test('with several recorder sessions', async () => {
    expect(await kinds(textOf([HEADER, CLOSED, HEADER]))).toEqual(['life', 'closed', 'life'])
  })

  test('if it is empty', async () => {
    expect(await kinds('')).toEqual([])
    expect(await kinds('\n')).toEqual([])
  })
})

describe('an incomplete recording is read as far as possible', () => {
  test('with a truncated last line', async () => {
    const text = textOf([HEADER, reported(1, 'held')])
    for (const cut of [text.length - 5, textOf([HEADER]).length + 1])
      expect(await kinds(text.slice(0, cut))).toEqual(['life', 'torn'])
    expect(await kinds('{"at":17')).toEqual(['torn'])
  })

  test('with a truncated line before the next session', async () => {
    expect(await kinds(textOf([HEADER, '{"at":1,"ev', HEADER]))).toEqual(['life', 'torn', 'life'])
  })

  test('with events of a newer minor version, and invalid fields', async () => {
    const newer = { ...HEADER, version: '1.7' }
    const odd = reported(2, 'sealed', {
      id: 7,
      nonce: -1,
      attempts: [{ nonce: 'x' }, null],
      error: 'x',
      more: {},
    })
    const items = await itemsOf(textOf([newer, reported(1, 'teleported'), odd]))
    expect(items.map(({ kind }) => kind)).toEqual(['life', 'unknown', 'event'])
    expect(items[2]).toMatchObject({
      event: { id: undefined, nonce: undefined, attempts: [], error: undefined },
    })
  })
})

describe('an error names the invalid line of a file that is not a recording', () => {
  test.each([
    ['prose', 'hello\n', 1],
    ['another JSONL', '{"level":30,"time":1,"msg":"x"}\n', 1],
    ['events of another program', '{"at":1,"event":"click"}\n', 1],
    ['a JSON document', '{\n  "a": 1\n}\n', 1],
    ['one line without an end', 'x'.repeat(3_000_000), 1],
    [
      'a recording with a foreign line',
      textOf([HEADER, reported(1, 'held'), 'garbage', reported(2, 'released')]),
      3,
    ],
    ['a complete but invalid last line', textOf([HEADER, reported(1, 'held'), 'garbage']), 3],
    ['a line with an array', textOf([HEADER, '[1]', reported(1, 'held')]), 2],
    ['an event without a lane', textOf([HEADER, { at: 1, event: 'held' }, reported(1, 'held')]), 2],
    ['a header of another format', textOf([{ ...HEADER, format: 'x' }]), 1],
  ])('%s', async (_, text, line) => {
    await expect(itemsOf(text)).rejects.toThrow(new RegExp(`^line ${line} is not a line of a recording: `))
  })

  test('another major version', async () => {
    await expect(itemsOf(textOf([{ ...HEADER, version: '2.0' }]))).rejects.toThrow(
      /^line 1 begins a recording of version "2\.0", but this command reads version 1/,
    )
  })
})
