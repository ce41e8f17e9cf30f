import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkWritable, parseReport, runReport, writeReport } from './command.js'
import { REPORT_MARK } from './html.js'
import { CLOSED, HEADER, LANE, reported, START, textOf } from './report.fixture.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'txlane-report-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the command line', () => {
  const parse = (...argv: string[]) => parseReport(argv)

  test('takes a recording, and writes the page beside it by default', () => {
    const input = join(folder, 'run.jsonl')
    expect(parse(input)).toEqual({
      kind: 'run',
      options: { input, out: join(folder, 'run.html'), json: false, force: false },
    })
    expect(parse('/a/run')).toMatchObject({ options: { out: '/a/run.html' } })
    expect(parse('/a/b.jsonl', '--out', '/c/d.html', '--force')).toMatchObject({
      options: { out: '/c/d.html', force: true },
    })
  })

  test.each([
    ['no recording', [], /missing required argument/],
    ['two', ['a', 'b'], /too many arguments/],
    ['itself as the page', ['/a/run.jsonl', '--out', '/a/run.jsonl'], /the recording itself/],
    ['two kinds of output', ['a', '--json', '--out', 'b'], /without --out/],
    ['an unknown option', ['a', '--sorted'], /unknown option/],
  ])('refuses %s', (_, argv, message) => {
    expect(parse(...argv)).toMatchObject({ kind: 'bad', message: expect.stringMatching(message) })
  })

  test('prints its help', () => {
    expect(parse('--help')).toMatchObject({ kind: 'help', text: expect.stringContaining('txlane report') })
  })
})

describe('the page is written', () => {
  test('over another report, and over another file only with --force', async () => {
    const out = join(folder, 'run.html')
    await checkWritable({ out, force: false })
    await writeReport(out, `<!doctype html>${REPORT_MARK}1`)
    await checkWritable({ out, force: false })
    await writeReport(out, `<!doctype html>${REPORT_MARK}2`)
    expect(readFileSync(out, 'utf8')).toContain(`${REPORT_MARK}2`)
    expect(statSync(out).mode & 0o777).toBe(0o600)

    writeFileSync(out, 'my thesis')
    await expect(checkWritable({ out, force: false })).rejects.toThrow(/not a report: --force/)
    await checkWritable({ out, force: true })
    await expect(runReport({ input: out, out, json: false, force: false })).rejects.toThrow(/not a report/)
    expect(readFileSync(out, 'utf8')).toBe('my thesis')
  })

  test('atomically', async () => {
    await expect(writeReport(join(folder, 'missing', 'run.html'), 'page')).rejects.toThrow(/ENOENT/)
  })

  test('from a readable recording; else the error names the file and the line', async () => {
    const input = join(folder, 'run.jsonl')
    const options = { input, out: join(folder, 'run.html'), json: true, force: false }
    await expect(runReport(options)).rejects.toThrow(/^run\.jsonl: ENOENT/)
    writeFileSync(input, 'x\n')
    await expect(runReport(options)).rejects.toThrow(/^run\.jsonl: line 1 is not a line of a recording/)
  })

  test.each([
    ['a file without a line', '', 'the file is empty.'],
    [
      'a recorder that followed no sender',
      textOf([HEADER, CLOSED]),
      'the recorder followed no sender. Call follow(sender)',
    ],
    [
      'a sender without an event',
      textOf([HEADER, { at: START, event: 'following', lane: LANE }, CLOSED]),
      'account 0x709979…79C8 on chain 31337 was followed, and emitted no event.',
    ],
    [
      'events of a newer version only',
      textOf([HEADER, reported(1, 'teleported')]),
      'it has 1 event of a newer version',
    ],
  ])('not from an empty recording: %s', async (_, text, reason) => {
    const [input, out] = [join(folder, 'run.jsonl'), join(folder, 'run.html')]
    writeFileSync(input, text)
    for (const json of [true, false]) {
      await expect(runReport({ input, out, json, force: false })).rejects.toThrow(reason)
    }
    expect(existsSync(out)).toBe(false)
  })
})
