import { createColors } from 'picocolors'
import { expect, test } from 'vitest'
import { createProfile, type EndpointProfile } from '../../../src/rpc/profile.js'
import { drawLane, profileWords } from './command.js'
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

const draw = (...given: Parameters<typeof look>) =>
  drawLane(look(...given), createColors(false), Number.POSITIVE_INFINITY)

test('draws each nonce around the head with a sign, and a legend', () => {
  expect(draw(5, 7, waitingAt(7, 8, 10))).toBe(
    '1 ████▓▓▒▒×░· 11\n' +
      '█ in a sealed block   ▓ pre-confirmed   ▒ waits in the pool   × missing   ░ waits behind a gap   · next\n',
  )
})

test('draws an account without transactions, and one whose pool is hidden', () => {
  expect(draw(0, 0, [])).toBe('The account has sent nothing yet: its next nonce is 0.\n')
  expect(draw(9, 9, undefined)).toBe('5 ████· 9\n█ in a sealed block   · next\n')
})

test.each([60, 80, 120])('fits a terminal of %i columns', (width) => {
  const first = 123_456_789
  const waiting = Array.from({ length: 300 }, (_, at) => first + 2 * at)
  const drawn = drawLane(look(first, first, waitingAt(...waiting)), createColors(false), width)
  expect(drawn.split('\n').filter((line) => line.length > width)).toEqual([])
  expect(drawn).toContain('░ waits behind a gap')
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

test('has a sentence for each known field of the endpoint profile, and none for an unknown one', () => {
  const known: EndpointProfile = {
    pending: 'mempool',
    pendingState: true,
    blockReceipts: false,
    batch: { usable: true, sizeMax: 100 },
    gapBudget: 64,
    batchInOrder: true,
    delivery: { window: 1_000, pool: 5_000, batch: 500 },
    client: 'Geth/v1.17.10',
    sendSync: true,
    simulateV1: false,
    singleSequencer: true,
  }
  expect(Object.values(profileWords).map((word) => word(known))).toEqual([
    'Geth/v1.17.10',
    'Its count at pending includes the pool',
    'It serves state at pending',
    'It accepts batches of up to 100 calls',
    'It does not serve block receipts',
    'It does not serve eth_simulateV1',
    'It serves eth_sendRawTransactionSync',
    'It keeps 64 transactions above a missing nonce',
    'It runs a batch in order',
    'It takes 1,000 nonces without an answer, 5,000 nonces without a block, 500 calls in one request of transactions',
    'The chain has one sequencer',
  ])
  const anvil = profileWords.sendSync({ ...known, sendSync: 'withoutTimeout' })
  expect(anvil).toBe('It serves eth_sendRawTransactionSync, without a timeout of the caller')
  const unknown = createProfile().current()
  expect(Object.values(profileWords).flatMap((word) => word(unknown) ?? [])).toEqual([
    'The first transaction will show whether its count at pending includes the pool',
  ])
})
