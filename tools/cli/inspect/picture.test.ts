import { createColors } from 'picocolors'
import { expect, test } from 'vitest'
import type { EndpointProfile } from '../../../src/rpc/profile.js'
import { drawLane } from './command.js'
import { holesOf, type Look, type Waiting } from './look.js'

const waitingAt = (...nonces: readonly number[]) => nonces.map((nonce) => ({ nonce }) as Waiting)

function look(latest: number, pending: number, waiting: readonly Waiting[] | undefined): Look {
  return {
    address: `0x${'1'.repeat(40)}`,
    chain: 'x',
    balanceWei: 0n,
    counts: { finalized: 0, safe: 0, latest, pending },
    code: 'none',
    baseFeePerGasWei: 1n,
    waiting,
    holes: holesOf(latest, pending, waiting).lowest,
    holesCount: holesOf(latest, pending, waiting).count,
    stuck: undefined,
    endpoint: {} as EndpointProfile,
  }
}

const draw = (...given: Parameters<typeof look>) => drawLane(look(...given), createColors(false))

test('draws each nonce around the head with a sign, and a legend', () => {
  expect(draw(5, 7, waitingAt(7, 8, 10))).toBe(
    '1 ████▓▓▒▒×░· 11\n' +
      '█ in a sealed block   ▓ pre-confirmed   ▒ waits in the pool   × missing   ░ waits behind a gap   · next\n',
  )
})

test('draws an account without transactions, and one whose pool is hidden', () => {
  expect(draw(0, 0, [])).toBe('0 · 0\n· next\n')
  expect(draw(9, 9, undefined)).toBe('5 ████· 9\n█ in a sealed block   · next\n')
})

test('finds no holes below pending if pending counts pooled transactions', () => {
  // geth: pending includes the executable transactions of the pool.
  expect(holesOf(3, 6, waitingAt(3, 4, 5, 8)).lowest).toEqual([6, 7])
  expect(holesOf(3, 3, waitingAt(5)).lowest).toEqual([3, 4])
  expect(holesOf(3, 5, waitingAt(5, 6)).lowest).toEqual([])
})

test('limits the picture for an absurdly high nonce', () => {
  const top = Number.MAX_SAFE_INTEGER
  const drawn = draw(5, 5, waitingAt(7, top))
  expect(drawn.split('\n')[0]).toMatch(/^1 ████××░×+ 64$/)
})
