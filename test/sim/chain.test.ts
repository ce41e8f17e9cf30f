import { keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { call, type Port } from '../../src/rpc/port.js'
import { createChain } from './chain/chain.js'
import type { ChainOptions } from './chain/options.js'
import { foreignTransaction } from './foreign.js'
import { createSimPort } from './port/simPort.js'
import { programRequest } from './program.js'
import { createRandom } from './random.js'
import { createStubAccount } from './stubAccount.js'
import { createVirtualClock } from './virtualClock.js'

const ADDRESS = '0x00000000000000000000000000000000000000aa'
const GWEI = 10n ** 9n

function setUp(options: Partial<ChainOptions> = {}) {
  const clock = createVirtualClock()
  const random = createRandom(1)
  const accounts = [{ address: ADDRESS, nonce: 5, balanceWei: 10n ** 18n }] as const
  const chain = createChain({ clock, random, accounts, ...options })
  const account = createStubAccount(ADDRESS)
  const port = createSimPort(chain, { clock, random })
  async function sign(nonce: number, feeWei = GWEI, change: object = {}) {
    return account.signTransaction({
      chainId: 8453,
      type: 'eip1559',
      nonce,
      gas: 100_000n,
      maxFeePerGas: feeWei,
      maxPriorityFeePerGas: feeWei,
      ...programRequest({ kind: 'call', marker: nonce }),
      ...change,
    })
  }
  /** The message of a refusal, or `undefined` if the transaction was admitted. */
  async function send(nonce: number, feeWei = GWEI, change: object = {}) {
    const admission = chain.submit(await sign(nonce, feeWei, change))
    return admission.ok ? undefined : admission.message
  }
  const landed = () => chain.canonical.flatMap((block) => block.executed.map(({ tx }) => tx.nonce))
  return { clock, chain, port, sign, send, landed }
}

/** A read in virtual time. */
async function ask(
  port: Port,
  clock: ReturnType<typeof createVirtualClock>,
  method: string,
  ...params: unknown[]
) {
  const asked = call(port, method, params)
  await clock.advance(100)
  const reply = await asked
  return reply.ok ? reply.result : reply.failure
}

describe('the pool', () => {
  test('keeps a stranded transaction stranded, until it is replaced', async () => {
    const { clock, chain, send, landed } = setUp()
    for (const nonce of [5, 6, 7]) await send(nonce)
    chain.pool.strand(({ nonce }) => nonce === 6)
    chain.start()
    await clock.advance(10_000)
    expect(landed()).toEqual([5])
    expect(chain.pool.nextNonce(ADDRESS, 6)).toBe(6)
    expect(await send(6)).toBe('already known')
    expect(await send(6, 2n * GWEI)).toBeUndefined()
    await clock.advance(10_000)
    expect(landed()).toEqual([5, 6, 7])
  })

  test.each(['base', 'geth'] as const)(
    'with the rules of %s, includes a stranded transaction that is sent again',
    async (rules) => {
      const { clock, chain, send, landed } = setUp({ rules })
      await send(5)
      chain.pool.strand(() => true)
      chain.pool.evict(() => true)
      expect(await send(5)).toBeUndefined()
      chain.start()
      await clock.advance(30_000)
      expect(landed()).toEqual([5])
    },
  )

  test("refuses with geth's messages", async () => {
    const { send } = setUp({ rules: 'geth' })
    expect(await send(5)).toBeUndefined()
    expect(await send(5)).toBe('already known')
    expect(await send(4)).toBe('nonce too low: next nonce 5, tx nonce 4')
    expect(await send(5, GWEI + GWEI / 20n)).toBe('replacement transaction underpriced')
    expect(await send(6, GWEI, { gas: 20_000n })).toMatch(/^intrinsic gas too low: gas 20000, minimum needed/)
    expect(await send(6, GWEI, { chainId: 1 })).toBe(
      'invalid sender: invalid chain id for signer: have 1 want 8453',
    )
    expect(await send(6, GWEI, { gas: 17_000_000n })).toBe(
      'transaction gas limit too high (cap: 16777216, tx: 17000000)',
    )
    expect(await send(6, GWEI, { maxPriorityFeePerGas: 0n })).toBe(
      'transaction gas price below minimum: gas tip cap 0, minimum needed 1',
    )
    expect(await send(6, GWEI, { value: 10n ** 18n })).toMatch(
      /^insufficient funds for gas \* price \+ value/,
    )
  })

  test('replaces only if both fees are a tenth higher', async () => {
    const { send, chain } = setUp()
    await send(5)
    expect(await send(5, (GWEI * 11n) / 10n, { maxPriorityFeePerGas: GWEI })).toMatch(/underpriced/)
    expect(await send(5, (GWEI * 11n) / 10n)).toBeUndefined()
    expect(chain.pool.size).toBe(1)
  })

  test('keeps 64 gapped transactions and drops the rest silently', async () => {
    const { send, chain } = setUp()
    for (let nonce = 6; nonce < 76; nonce++) expect(await send(nonce)).toBeUndefined()
    expect(chain.pool.size).toBe(64)
    await send(5)
    chain.stepFlashblock()
    chain.seal()
    expect(chain.head.executed).toHaveLength(65)
  })

  test('of geth counts the cost of all pooled transactions, that of reth does not', async () => {
    const value = { value: 6n * 10n ** 17n }
    const geth = setUp({ rules: 'geth' })
    await geth.send(5, GWEI, value)
    expect(await geth.send(6, GWEI, value)).toMatch(/queued cost/)
    const reth = setUp({ rules: 'reth' })
    await reth.send(5, GWEI, value)
    expect(await reth.send(6, GWEI, value)).toBeUndefined()
  })

  test('of geth drops transactions when it is full, and reports that only without its tracker', async () => {
    for (const tracksLocals of [true, false]) {
      const { send, chain } = setUp({ rules: 'geth', tracksLocals })
      for (let nonce = 5; nonce < 35; nonce++) await send(nonce)
      chain.setPressure(true)
      expect(chain.pool.size).toBe(16)
      expect(chain.pool.nextNonce(ADDRESS, 5)).toBe(21)
      for (let nonce = 22; nonce < 38; nonce++) await send(nonce, 2n * GWEI)
      expect(await send(40)).toBe(tracksLocals ? undefined : 'transaction underpriced')
      chain.setPressure(false)
      expect(await send(21)).toBeUndefined()
    }
  })

  test('of geth may count a transaction a moment after its answer', async () => {
    const { chain, clock, sign } = setUp({ rules: 'geth', poolLag: 1 })
    chain.submit(await sign(5))
    expect(chain.pool.nextNonce(ADDRESS, 5)).toBe(5)
    await clock.advance(5)
    expect(chain.pool.nextNonce(ADDRESS, 5)).toBe(6)
  })

  test('leaves an account its 16 slots when it is full', async () => {
    const { send, chain } = setUp()
    for (let nonce = 5; nonce < 35; nonce++) await send(nonce)
    chain.setPressure(true)
    expect(chain.pool.size).toBe(16)
    expect(await send(21)).toBe('txpool is full')
    chain.setPressure(false)
    expect(await send(21)).toBeUndefined()
  })

  test('limits an account with delegated code separately', async () => {
    const accounts = [
      { address: ADDRESS, balanceWei: 10n ** 18n, code: `0xef0100${'11'.repeat(20)}` },
    ] as const
    const { send } = setUp({ accounts, rules: 'geth' })
    expect(await send(1)).toBe('gapped-nonce tx from delegated accounts')
    expect(await send(0)).toBeUndefined()
    expect(await send(1)).toBe('in-flight transaction limit reached for delegated accounts')
  })

  test('does not count a transaction as in flight that was gapped before the account delegated itself', async () => {
    const { send, chain } = setUp({ rules: 'geth' })
    await send(7)
    chain.adjust({ address: ADDRESS, code: `0xef0100${'11'.repeat(20)}` })
    chain.stepFlashblock()
    chain.seal()
    expect(await send(5)).toBeUndefined()
    expect(await send(6)).toBe('in-flight transaction limit reached for delegated accounts')
  })
})

describe('blocks', () => {
  test('link to their parents and are sealed on time', async () => {
    const { chain, clock } = setUp()
    chain.start()
    await clock.advance(10_000)
    expect(chain.head.number).toBe(5)
    for (const block of chain.canonical.slice(1)) expect(block.parent).toBe(chain.canonical[block.number - 1])
    expect(new Set(chain.canonical.map((block) => block.hash)).size).toBe(6)
  })

  test('a flashblock shows a transaction before it is sealed, and the mempool does not count', async () => {
    const { chain, clock, port, sign, send } = setUp()
    await send(5)
    const count = () => ask(port, clock, 'eth_getTransactionCount', ADDRESS, 'pending')
    expect(await count()).toBe('0x5')
    chain.stepFlashblock()
    expect(await count()).toBe('0x6')
    expect(await ask(port, clock, 'eth_getTransactionCount', ADDRESS, 'latest')).toBe('0x5')
    expect(await ask(port, clock, 'eth_getBlockByNumber', 'pending', false)).toMatchObject({
      number: '0x1',
      transactions: [keccak256(await sign(5))],
    })
    chain.seal()
    expect(await ask(port, clock, 'eth_getTransactionCount', ADDRESS, 'latest')).toBe('0x6')
  })

  test('with rules geth the pending count includes the mempool, up to a gap', async () => {
    const { clock, port, send } = setUp({ rules: 'geth' })
    for (const nonce of [5, 6, 8]) await send(nonce)
    expect(await ask(port, clock, 'eth_getTransactionCount', ADDRESS, 'pending')).toBe('0x7')
    expect(await ask(port, clock, 'eth_getBlockByNumber', 'pending', false)).toMatchObject({ number: '0x1' })
  })

  test('with rules latest pending is the latest block', async () => {
    const { clock, port, send } = setUp({ rules: 'latest' })
    await send(5)
    expect(await ask(port, clock, 'eth_getTransactionCount', ADDRESS, 'pending')).toBe('0x5')
    expect(await ask(port, clock, 'eth_getBlockByNumber', 'pending', false)).toMatchObject({ number: '0x0' })
  })

  test('a reverted transaction is executed and uses its nonce', async () => {
    const { chain, clock, port, send, sign } = setUp()
    const change = programRequest({ kind: 'revert', marker: 1 })
    await send(5, GWEI, change)
    chain.stepFlashblock()
    chain.seal()
    const hash = keccak256(await sign(5, GWEI, change))
    expect(await ask(port, clock, 'eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x0' })
    expect(chain.nextNonce(ADDRESS)).toBe(6)
  })

  test('a dependent call reverts until its condition holds, also in the block in progress', async () => {
    const { chain, clock, port, send } = setUp()
    const request = { from: ADDRESS, ...programRequest({ kind: 'dependent', marker: 9, needs: 5 }) }
    const gas = () => ask(port, clock, 'eth_estimateGas', request, 'pending')
    expect(await gas()).toMatchObject({ code: 3, message: 'execution reverted' })
    await send(5)
    chain.stepFlashblock()
    expect(await gas()).toMatch(/^0x/)
  })

  test('a transaction below the base fee waits until the fee falls', async () => {
    const { chain, clock, send, landed } = setUp()
    chain.start()
    chain.spikeBaseFee(2n * GWEI, 3)
    await clock.advance(2_000)
    await send(5)
    await clock.advance(4_000)
    expect(landed()).toEqual([])
    await clock.advance(20_000)
    expect(landed()).toEqual([5])
  })
})

describe('faults of the chain', () => {
  test('a reorg replaces blocks, and their transactions land elsewhere or not at all', async () => {
    const { chain, clock, send, landed } = setUp()
    chain.start()
    for (const nonce of [5, 6, 7]) {
      await send(nonce)
      await clock.advance(2_000)
    }
    const old = chain.head.hash
    const depth = 2
    chain.reorg({ depth, drops: (tx) => tx.nonce === 7 })
    expect(chain.head.hash).not.toBe(old)
    expect(chain.head.number).toBe(3)
    expect(landed()).toEqual([5, 6])
    expect(chain.pool.size).toBe(0)
  })

  test('a foreign transaction in a new branch takes the nonce of ours', async () => {
    const { chain, clock, send } = setUp()
    chain.start()
    await send(5)
    await clock.advance(2_000)
    const make = (nonce: number) =>
      foreignTransaction({ chainId: 8453, from: ADDRESS, nonce, maxFeeWei: GWEI, tipWei: GWEI, salt: 1 })
    chain.reorg({ depth: 1, forced: [{ from: ADDRESS, make }] })
    expect(chain.head.executed).toHaveLength(1)
    expect(chain.head.executed[0]?.tx.to).toMatch(/^0xf0e1/)
    expect(chain.pool.size).toBe(0)
  })

  test('a lost flashblock removes its transactions from the sealed block', async () => {
    const { chain, send, landed } = setUp()
    await send(5)
    chain.stepFlashblock()
    await send(6)
    chain.stepFlashblock()
    chain.loseFlashblocks(1)
    chain.seal()
    expect(landed()).toEqual([5])
    expect(chain.view().pending?.executed).toHaveLength(0)
    chain.stepFlashblock()
    chain.seal()
    expect(landed()).toEqual([5, 6])
  })

  test('a halted chain stops and continues', async () => {
    const { chain, clock } = setUp()
    chain.start()
    chain.setHalted(true)
    await clock.advance(10_000)
    expect(chain.head.number).toBe(0)
    chain.setHalted(false)
    await clock.advance(2_000)
    expect(chain.head.number).toBe(1)
  })

  test('adjustments move balance and nonce without a transaction, and survive a reorg', async () => {
    const { chain, clock } = setUp()
    chain.start()
    chain.adjust({ address: ADDRESS, nonces: 2, balanceWei: -(10n ** 18n) })
    await clock.advance(2_000)
    chain.reorg({ depth: 1 })
    expect(chain.head.state.accounts.get(ADDRESS)).toEqual({ nonce: 7, balanceWei: 0n })
  })

  test('a lagging replica shows the old branch', async () => {
    const { chain, clock } = setUp()
    chain.start()
    await clock.advance(4_000)
    const old = chain.head
    await clock.advance(100)
    chain.reorg({ depth: 1 })
    expect(chain.view().head).not.toBe(old)
    expect(chain.view(50).head).toBe(old)
  })
})
