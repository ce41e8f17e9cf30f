import { expect, test } from 'vitest'
import type { Stage } from '../../../../src/types/index.js'
import type { Row } from '../file/rows.js'
import { lastAttempt, rowsToSend, type Standing, standingsOf } from './standing.js'

type Known = { stage: Stage; status: 'success' | 'reverted' | undefined; block?: never }

const row = (id: string) => ({ id }) as Row
const known = (stage: Stage, status?: 'reverted'): Known => ({ stage, status })

test.each<[Stage, 'reverted' | undefined, Standing, boolean, boolean]>([
  ['queued', undefined, 'new', true, true],
  ['signed', undefined, 'signed', false, false],
  ['accepted', undefined, 'signed', false, false],
  ['preconfirmed', undefined, 'signed', false, false],
  ['sealed', undefined, 'paid', false, false],
  ['safe', undefined, 'paid', false, false],
  ['finalized', undefined, 'paid', false, false],
  ['finalized', 'reverted', 'reverted', false, true],
  ['failed', undefined, 'failed', true, true],
  ['cancelled', undefined, 'cancelled', false, false],
  ['superseded', undefined, 'cancelled', false, false],
])('a line that an earlier run left %s (%s) is %s', (stage, status, standing, again, onRequest) => {
  const rows = [row('a')]
  const standings = standingsOf(rows, lastAttempt(new Map([['a', known(stage, status)]])))
  expect(standings[standing]).toEqual(rows)
  expect(rowsToSend(rows, standings, false)).toEqual(again ? rows : [])
  expect(rowsToSend(rows, standings, true)).toEqual(onRequest ? rows : [])
})

test('the last attempt of a line counts, and a line without one is new', () => {
  const all = new Map([
    ['a', known('sealed', 'reverted')],
    ['a~2', known('sealed', 'reverted')],
    ['a~3', known('sealed')],
    ['b~2', known('sealed')],
  ])
  const rows = [row('a'), row('b')]
  const standings = standingsOf(rows, lastAttempt(all))
  expect([standings.paid, standings.new]).toEqual([[rows[0]], [rows[1]]])
  expect(rowsToSend(rows, standings, false)).toEqual([rows[1]])
  expect(rowsToSend(rows, undefined, false)).toBe(rows)
})

test('knows the first and the last block with a paid line', () => {
  const at = (number: number, status?: 'reverted') => ({
    stage: 'sealed' as const,
    status,
    block: { number, hash: '0x' as const },
  })
  const all = new Map([
    ['a', at(9)],
    ['b', at(4)],
    ['c', at(2, 'reverted')],
  ])
  const standings = standingsOf(['a', 'b', 'c', 'd'].map(row), lastAttempt(all))
  expect(standings.blocks).toEqual([4, 9])
  expect(standingsOf([row('d')], lastAttempt(all)).blocks).toBeUndefined()
})
