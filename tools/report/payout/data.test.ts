import { expect, test } from 'vitest'
import { packLines, unpackLines } from './data.js'
import { largeReport, line, someReport } from './payout.fixture.js'

const json = (value: unknown) => JSON.parse(JSON.stringify(value))

test('the data of the page equals the lines of the report, without their nonces', () => {
  const report = someReport()
  const lines = report.lines.map(({ nonce: _, ...rest }) =>
    rest.hash === undefined ? rest : { sharedBy: 1, ...rest },
  )
  expect(unpackLines(json(packLines(report)))).toEqual(lines)
})

test('a line takes at most 230 bytes, with an id and a note', () => {
  const report = largeReport(2_000)
  expect(JSON.stringify(packLines(report)).length / report.lines.length).toBeLessThan(230)
})

test('a document in a cell is cut', () => {
  const long = 'x'.repeat(1_000_000)
  const report = someReport({
    lines: [line(2, { id: long, name: long, note: `${long}2`, error: `${long}3` })],
  })
  expect(JSON.stringify(packLines(report)).length).toBeLessThan(10_000)
})

test('a transaction is stored once for all of its lines', () => {
  const { transactions } = packLines(someReport())
  const hashes = someReport().lines.flatMap(({ hash }) => (hash === undefined ? [] : [hash]))
  expect(transactions).toHaveLength(new Set(hashes).size)
})
