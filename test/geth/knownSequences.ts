import type { Hex, LocalAccount } from 'viem'
import { GETH_LIMITS } from '../../tools/devnet/geth/poolTypes.js'
import { createRandom, shuffle } from '../sim/random.js'
import { FUNDS_WEI } from './drawSequence.js'
import type { NodeFlags, Sequence, Step } from './sequence.js'
import { accountsOf, type Fees, signed, type Unsigned } from './signing.js'

export type KnownSequence = {
  readonly name: string
  readonly flags: NodeFlags
  make(chainId: number): Promise<Sequence>
}

const GWEI = 10n ** 9n
const FEES: Fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
const DEFAULT: NodeFlags = { limits: GETH_LIMITS, tipWeiMin: 1, noLocals: false }
const SMALL: NodeFlags = {
  ...DEFAULT,
  limits: { accountSlots: 4, globalSlots: 16, accountQueue: 8, globalQueue: 12, priceBump: 10 },
}
const QUIET: NodeFlags = { ...SMALL, noLocals: true }

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
const block: Step = { kind: 'block' }

type Tools = {
  readonly accounts: readonly LocalAccount[]
  sign(account: number, fields: Partial<Fees> & Omit<Unsigned, keyof Fees>): Promise<Hex>
  /** Sends each transaction in a request of its own. */
  send(account: number, nonces: readonly number[], fees?: Fees): Promise<Step[]>
  /** Sends all transactions in one request. */
  batch(account: number, nonces: readonly number[], fees?: Fees): Promise<Step>
}

function known(
  name: string,
  flags: NodeFlags,
  count: number,
  stepsOf: (tools: Tools) => Promise<readonly Step[]>,
): KnownSequence {
  return {
    name,
    flags,
    async make(chainId) {
      const accounts = accountsOf(name, count)
      const sign: Tools['sign'] = (account, fields) =>
        signed(accounts[account] as LocalAccount, chainId, { ...FEES, ...fields })
      const raws = (account: number, nonces: readonly number[], fees = FEES) =>
        Promise.all(nonces.map((nonce) => sign(account, { nonce, ...fees })))
      const steps = await stepsOf({
        accounts,
        sign,
        send: async (...sent) => (await raws(...sent)).map((raw) => ({ kind: 'send', raws: [raw] })),
        batch: async (...sent) => ({ kind: 'send', raws: await raws(...sent) }),
      })
      return { name, accounts: accounts.map(({ address }) => address), steps }
    },
  }
}

const shuffled = (nonces: number[]) => {
  shuffle(createRandom(7), nonces)
  return nonces
}

const percent = (by: bigint): Fees => ({
  maxFeePerGas: (FEES.maxFeePerGas * (100n + by)) / 100n,
  maxPriorityFeePerGas: (FEES.maxPriorityFeePerGas * (100n + by)) / 100n,
})

/**
 * The pool rules that the sender depends on, one by one. Their outcome does not depend on when geth
 * reorganises.
 */
export const KNOWN_SEQUENCES: readonly KnownSequence[] = [
  known('in order, one by one and in a batch', DEFAULT, 1, async ({ send, batch }) => [
    ...(await send(0, range(0, 10))),
    await batch(0, range(10, 110)),
    block,
  ]),
  known('shuffled', DEFAULT, 1, async ({ batch }) => [await batch(0, shuffled(range(0, 60))), block]),
  known('64 above a gap are kept, and promoted when it is filled', DEFAULT, 1, async ({ send, batch }) => [
    await batch(0, shuffled(range(1, 101))),
    ...(await send(0, [0, 65, 66])),
    block,
    block,
  ]),
  known('a later batch before an earlier one', DEFAULT, 1, async ({ batch }) => [
    await batch(0, range(100, 200)),
    await batch(0, range(0, 100)),
    await batch(0, range(164, 200)),
    block,
  ]),
  known('replacement at +9, +10 and +11 %', DEFAULT, 1, async ({ send }) => [
    ...(await send(0, [0, 2])),
    ...(await send(0, [0, 2], percent(9n))),
    ...(await send(0, [0, 2], percent(10n))),
    ...(await send(0, [0, 2], { ...percent(30n), maxPriorityFeePerGas: FEES.maxPriorityFeePerGas })),
    ...(await send(0, [0, 2], percent(21n))),
    ...(await send(0, [0, 2], percent(33n))),
    block,
  ]),
  known('replacement of a price of a few wei', DEFAULT, 1, async ({ sign }) => {
    const at = async (wei: bigint, value: bigint): Promise<Step> => ({
      kind: 'send',
      raws: [await sign(0, { nonce: 0, value, maxFeePerGas: wei, maxPriorityFeePerGas: wei })],
    })
    // 10 % of 5 wei is rounded down to zero, but a replacement still needs one wei more.
    return [await at(5n, 0n), await at(5n, 1n), await at(6n, 2n), await at(6n, 3n)]
  }),
  known(
    'what the balance cannot pay any more is dropped, and what stands above it waits',
    DEFAULT,
    1,
    balanceFalls,
  ),
  known('refusals by price, gas, nonce, funds and bytes', DEFAULT, 1, async ({ sign, send }) => [
    { kind: 'send', raws: [await sign(0, { nonce: 0, maxPriorityFeePerGas: 0n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 0, gas: 20_999n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 0, gas: 11_500_001n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 0, gas: 16_777_217n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 0, value: FUNDS_WEI })] },
    { kind: 'send', raws: [await sign(0, { nonce: 0, value: FUNDS_WEI / 2n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 1, value: FUNDS_WEI / 2n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 5, value: FUNDS_WEI / 2n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 0, maxFeePerGas: 100_000n * GWEI })] },
    ...(await send(0, [1, 1])),
    block,
    ...(await send(0, [0])),
  ]),
  known('a price below the pool’s minimum', { ...DEFAULT, tipWeiMin: 1_000 }, 1, async ({ sign, send }) => [
    { kind: 'send', raws: [await sign(0, { nonce: 0, maxPriorityFeePerGas: 999n })] },
    { kind: 'send', raws: [await sign(0, { nonce: 0, maxPriorityFeePerGas: 1_000n })] },
    ...(await send(0, [1])),
    { kind: 'tipMin', wei: 2_000 },
    ...(await send(0, [0])),
    block,
  ]),
  known('the pool’s limits are cut from the largest account', QUIET, 3, async ({ send }) => [
    ...(await send(0, range(0, 4))),
    ...(await send(1, range(0, 7))),
    ...(await send(2, range(0, 12))),
    ...(await send(0, [4, 5])),
    block,
    block,
  ]),
  known('the queue’s limits are cut from the account that waited longest', QUIET, 3, async ({ send }) => [
    ...(await send(0, range(1, 10))),
    ...(await send(1, range(2, 8))),
    ...(await send(2, range(3, 9))),
    ...(await send(1, [0, 1])),
    block,
  ]),
  known('a replacement counts as a sign of life', QUIET, 2, async ({ send }) => [
    ...(await send(0, [0, 2, 3, 4, 5, 6, 7])),
    ...(await send(1, [0, 2, 3, 4, 5, 6])),
    ...(await send(0, [0], percent(10n))),
    ...(await send(1, [7, 8, 9])),
  ]),
  known('a full pool', QUIET, 8, fullPool),
  known('a full pool that answers with the hash all the same', SMALL, 8, fullPool),
  known(
    'what was dropped and what was refused for now is added again',
    SMALL,
    2,
    async ({ accounts, send, sign }) => [
      ...(await send(0, range(0, 3))),
      {
        kind: 'send',
        raws: [await sign(1, { nonce: 0, authority: { account: accounts[1] as LocalAccount, nonce: 1 } })],
      },
      ...(await send(1, [2])),
      block,
      ...(await send(0, [3, 4, 6])),
      { kind: 'tipMin', wei: 2 * Number(GWEI) },
      { kind: 'tipMin', wei: 1 },
      { kind: 'resubmit' },
      block,
    ],
  ),
  known('a delegated account', QUIET, 2, delegated),
  known('a delegated account of a node that tries again', SMALL, 2, delegated),
  known('blocks that are taken back', DEFAULT, 1, async ({ send }) => [
    ...(await send(0, range(0, 3))),
    block,
    ...(await send(0, range(3, 5))),
    block,
    ...(await send(0, [5, 7])),
    { kind: 'rewind', blocks: 1 },
    ...(await send(0, range(3, 5), percent(20n))),
    { kind: 'rewind', blocks: 1 },
    ...(await send(0, range(0, 3), percent(20n))),
    block,
  ]),
]

/** The random sequences with a kept recording. Together, each rule of the model decides something in them. */
export const RECORDED_SEEDS: readonly number[] = [23, 59, 80, 5_155]

/** Different prices for each account and nonce: among equal prices geth's choice is random. */
function priced(account: number, nonce: number): Fees {
  const by = BigInt(account * 16 + nonce)
  return {
    maxFeePerGas: FEES.maxFeePerGas + by * 1_000n,
    maxPriorityFeePerGas: FEES.maxPriorityFeePerGas + by,
  }
}

/** More accounts than truncation can cut: none exceeds its share. */
async function fullPool({ send, sign }: Tools): Promise<Step[]> {
  const steps: Step[] = []
  for (const account of range(0, 8)) {
    for (const nonce of account === 7 ? [1, 2, 3] : [0, 1, 2, 3]) {
      steps.push(...(await send(account, [nonce], priced(account, nonce))))
    }
  }
  const low: Fees = { maxFeePerGas: FEES.maxFeePerGas - 1n, maxPriorityFeePerGas: 1n }
  const high = percent(100n)
  return [
    ...steps,
    ...(await send(6, [4], FEES)),
    ...(await send(6, [4], low)),
    { kind: 'send', raws: [await sign(6, { nonce: 9, ...high })] },
    { kind: 'send', raws: [await sign(7, { nonce: 0, ...high })] },
    ...(await send(5, [0], high)),
    block,
  ]
}

/**
 * A block without transactions of the pool spends most of the balance. The pooled transactions pay too
 * little for any block.
 */
async function balanceFalls({ sign, send }: Tools): Promise<Step[]> {
  const low: Fees = { maxFeePerGas: 5n, maxPriorityFeePerGas: 5n }
  const pooled = async (nonce: number, value: bigint): Promise<Step> => ({
    kind: 'send',
    raws: [await sign(0, { nonce, value, ...low })],
  })
  return [
    await pooled(0, 0n),
    await pooled(1, FUNDS_WEI / 10n),
    await pooled(2, FUNDS_WEI / 2n),
    await pooled(3, 0n),
    await pooled(4, FUNDS_WEI / 10n),
    await pooled(6, FUNDS_WEI / 2n),
    { kind: 'block', transactions: [await sign(0, { nonce: 0, value: (FUNDS_WEI * 6n) / 10n })] },
    ...(await send(0, [2])),
    { kind: 'block', transactions: [await sign(0, { nonce: 1 })] },
  ]
}

async function delegated({ accounts, send, sign }: Tools): Promise<Step[]> {
  const [first, second] = accounts as [LocalAccount, LocalAccount]
  const authorized = async (nonce: number, account: LocalAccount, tuple: number): Promise<Step> => ({
    kind: 'send',
    raws: [await sign(1, { nonce, authority: { account, nonce: tuple } })],
  })
  return [
    ...(await send(0, [0, 1])),
    // Two transactions of the authority itself are in the pool.
    await authorized(0, first, 2),
    block,
    await authorized(0, first, 2),
    block,
    // Delegated from here on, with no authorization in the pool.
    ...(await send(0, [3, 4, 6])),
    ...(await send(0, [3], percent(10n))),
    block,
    ...(await send(0, [5, 4])),
    await authorized(1, second, 2),
    ...(await send(1, [2])),
    block,
  ]
}
