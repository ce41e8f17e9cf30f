import { type Hex, keccak256 } from 'viem'
import { describe, expect, test, vi } from 'vitest'
import { startDevnet } from '../../tools/devnet/index.js'
import { ask, askAll, GWEI, post, rpc, send, sent, sign } from './devnetSupport.js'

const message = (answer: { error?: { message: string } }) => answer.error?.message

const DELEGATED = `0xef0100${'99'.repeat(20)}`

describe('the pool under the rules of Base', () => {
  test('a replacement must raise both fees by a tenth', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const first = await sent(devnet, account, 0, {
      maxFeePerGas: 100n * GWEI,
      maxPriorityFeePerGas: 10n * GWEI,
    })
    const raise = (max: bigint, tip: bigint) =>
      send(devnet, account, 0, { maxFeePerGas: max, maxPriorityFeePerGas: tip, value: 2n })
    const underpriced = { code: -32000, message: 'replacement transaction underpriced' }
    expect((await raise(110n * GWEI, 11n * GWEI - 1n)).error).toEqual(underpriced)
    expect((await raise(110n * GWEI - 1n, 11n * GWEI)).error).toEqual(underpriced)
    expect((await devnet.pool()).map(({ hash }) => hash)).toEqual([first])
    const second = (await raise(110n * GWEI, 11n * GWEI)).result
    expect((await devnet.pool()).map(({ hash }) => hash)).toEqual([second])
    await devnet.stepFlashblock()
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', second)).toMatchObject({ status: '0x1' })
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', first)).toBeNull()
  })

  test('of gapped transactions 64 are kept, and those above are dropped after their hash was returned', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const raws = await Promise.all(Array.from({ length: 70 }, (_, at) => sign(devnet, account, at + 1)))
    const batch = raws.map((raw, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_sendRawTransaction',
      params: [raw],
    }))
    const answers = (await post(devnet.url, batch)).body as { result?: Hex }[]
    expect(answers.every(({ result }) => result !== undefined)).toBe(true)
    const nonces = (await devnet.pool()).map(({ nonce }) => nonce)
    expect(nonces).toEqual(Array.from({ length: 64 }, (_, at) => at + 1))
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', answers.at(-1)?.result)).toBeNull()
    await sent(devnet, account, 0)
    await devnet.stepFlashblock()
    expect(await rpc(devnet.url, 'eth_getTransactionCount', account.address, 'pending')).toBe('0x41')
  })

  test('an account with delegated code has at most four in flight, without a gap, and may replace them', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    await rpc(devnet.url, 'anvil_setCode', account.address, DELEGATED)
    expect(message(await send(devnet, account, 1))).toBe('gapped-nonce tx from delegated accounts')
    for (let nonce = 0; nonce < 4; nonce += 1) await sent(devnet, account, nonce)
    const limit = 'in-flight transaction limit reached for delegated accounts'
    expect(message(await send(devnet, account, 4))).toBe(limit)
    await sent(devnet, account, 3, { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 2n * GWEI })
    await devnet.stepFlashblock()
    await sent(devnet, account, 4)
  })

  test('the balance must cover the cost of all executable transactions together', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const half = 6_000n * 10n ** 18n
    const gasCost = 21_000n * 10n * GWEI
    await sent(devnet, account, 0, { value: half })
    const balance = 10_000n * 10n ** 18n
    const cost = half + gasCost
    expect(message(await send(devnet, account, 1, { value: half }))).toBe(
      `insufficient funds for gas * price + value: balance ${balance}, queued cost ${cost}, tx cost ${cost}, overshot ${cost * 2n - balance}`,
    )
    expect(message(await send(devnet, account, 1, { value: 2n * half }))).toBe(
      `insufficient funds for gas * price + value: balance ${balance}, tx cost ${half * 2n + gasCost}, overshot ${half * 2n + gasCost - balance}`,
    )
    await sent(devnet, account, 1, { value: 1n })
  })

  test("a used nonce, known bytes, and transactions that no node can include are refused in geth's words", async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    await sent(devnet, account, 0)
    expect(message(await send(devnet, account, 0))).toBe('already known')
    await devnet.stepFlashblock()
    expect(message(await send(devnet, account, 0))).toBe('nonce too low: next nonce 1, tx nonce 0')
    const refused = async (fields: Parameters<typeof send>[3]) =>
      message(await send(devnet, account, 1, fields))
    expect(await refused({ gas: 20_999n })).toBe('intrinsic gas too low: gas 20999, minimum needed 21000')
    expect(await refused({ data: `0x${'ff'.repeat(100)}`, gas: 23_000n })).toBe(
      'insufficient gas for floor data gas cost: gas 23000, minimum needed 25000',
    )
    expect(await refused({ gas: 16_777_217n })).toBe(
      'transaction gas limit too high (cap: 16777216, tx: 16777217)',
    )
    expect(await refused({ chainId: 1 })).toBe(
      'invalid sender: invalid chain id for signer: have 1 want 31337',
    )
    expect(message(await ask(devnet.url, 'eth_sendRawTransaction', '0x02c0'))).toBe(
      'failed to decode signed transaction',
    )
  })

  test('a full pool is reported', async () => {
    await using devnet = await startDevnet({ mining: 'manual', poolMax: 2 })
    const account = devnet.accounts[0]!
    await sent(devnet, account, 0)
    await sent(devnet, account, 1)
    expect(message(await send(devnet, account, 2))).toBe('txpool is full')
  })

  test('every kind of transaction is accepted, recovered to its sender, and executed', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const account = devnet.accounts[0]!
    const other = devnet.accounts[1]!
    const common = { chainId: devnet.chain.id, to: other.address, gas: 200_000n } as const
    const authorization = await other.signAuthorization!({
      chainId: 31_337,
      address: `0x${'99'.repeat(20)}`,
      nonce: 0,
    })
    const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
    const raws = [
      await account.signTransaction({ ...common, type: 'legacy', nonce: 0, gasPrice: 10n * GWEI }),
      await account.signTransaction({
        ...common,
        type: 'eip2930',
        nonce: 1,
        gasPrice: 10n * GWEI,
        accessList: [],
      }),
      await account.signTransaction({ ...common, ...fees, type: 'eip1559', nonce: 2 }),
      await account.signTransaction({
        ...common,
        ...fees,
        type: 'eip7702',
        nonce: 3,
        authorizationList: [authorization],
      }),
    ]
    const hashes = []
    for (const raw of raws) hashes.push(await rpc<Hex>(devnet.url, 'eth_sendRawTransaction', raw))
    const shown = await Promise.all(
      hashes.map((hash) => rpc<object>(devnet.url, 'eth_getTransactionByHash', hash)),
    )
    await devnet.seal()
    for (const [index, hash] of hashes.entries()) {
      expect(shown[index]).toMatchObject({ from: account.address.toLowerCase(), blockNumber: null })
      const mined = await rpc<Record<string, unknown>>(devnet.url, 'eth_getTransactionByHash', hash)
      const {
        blockHash,
        blockNumber,
        blockTimestamp,
        transactionIndex,
        gasPrice,
        authorizationList,
        ...same
      } = mined
      expect(shown[index]).toMatchObject(same)
      expect(await rpc(devnet.url, 'eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    }
    expect(await rpc(devnet.url, 'eth_getCode', other.address, 'latest')).toBe(DELEGATED)
  })
})

describe('the pool under the rules of geth', () => {
  test('pending counts executable transactions, not gapped ones', async () => {
    await using devnet = await startDevnet({ mining: 'manual', rules: 'geth' })
    const account = devnet.accounts[0]!
    const count = () => rpc(devnet.url, 'eth_getTransactionCount', account.address, 'pending')
    await sent(devnet, account, 0)
    await sent(devnet, account, 1)
    await sent(devnet, account, 3)
    expect(await count()).toBe('0x2')
    await sent(devnet, account, 2)
    expect(await count()).toBe('0x4')
  })

  test('a step is sealed at once, and no receipt is visible before', async () => {
    await using devnet = await startDevnet({ mining: 'manual', rules: 'geth' })
    const hash = await sent(devnet, devnet.accounts[0]!, 0)
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', hash)).toBeNull()
    await devnet.stepFlashblock()
    expect(await rpc(devnet.url, 'eth_blockNumber')).toBe('0x1')
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x1' })
    const pending = await rpc(devnet.url, 'eth_getBlockByNumber', 'pending', false)
    expect(pending).toMatchObject({ number: '0x2', hash: null, transactions: [] })
  })

  test('a second transaction of a delegated account is answered with its hash, but is not in the pool', async () => {
    await using devnet = await startDevnet({ mining: 'manual', rules: 'geth' })
    const account = devnet.accounts[0]!
    await rpc(devnet.url, 'anvil_setCode', account.address, DELEGATED)
    await sent(devnet, account, 0)
    const second = await sent(devnet, account, 1)
    expect(await rpc(devnet.url, 'eth_getTransactionByHash', second)).toBeNull()
    expect((await devnet.pool()).map(({ nonce }) => nonce)).toEqual([0])
  })

  test('executable transactions beyond the pool’s slots are dropped silently, and the count falls', async () => {
    await using devnet = await startDevnet({ mining: 'manual', rules: 'geth', poolMax: 20 })
    const account = devnet.accounts[0]!
    const raws = await Promise.all(Array.from({ length: 30 }, (_, nonce) => sign(devnet, account, nonce)))
    const answers = await askAll(
      devnet.url,
      raws.map((raw) => ['eth_sendRawTransaction', raw]),
    )
    expect(answers.every(({ result }) => result !== undefined)).toBe(true)
    expect(await rpc(devnet.url, 'eth_getTransactionCount', account.address, 'pending')).toBe('0x14')
    const content = await rpc<{ pending: object; queued: object }>(
      devnet.url,
      'txpool_contentFrom',
      account.address,
    )
    expect(Object.keys(content.pending).map(Number)).toEqual(Array.from({ length: 20 }, (_, at) => at))
    // Transactions after the cut are gapped.
    expect(Object.keys(content.queued)).not.toContain('20')
  })

  test('requests are processed concurrently: a later batch overtakes an earlier one, of which 64 are left', async () => {
    await using devnet = await startDevnet({ mining: 'manual', rules: 'geth' })
    const [account, other] = [devnet.accounts[0]!, devnet.accounts[1]!]
    const raws = await Promise.all(Array.from({ length: 300 }, (_, nonce) => sign(devnet, account, nonce)))
    const batch = (part: readonly Hex[]) =>
      askAll(
        devnet.url,
        part.map((raw) => ['eth_sendRawTransaction', raw]),
      )
    // Both batches are held until a third request is answered, so that they start at the same time.
    const held = devnet.faults.inject({
      fault: 'reorder',
      delayMs: 60_000,
      method: 'eth_sendRawTransaction',
      count: 2,
    })
    const both = Promise.all([batch(raws.slice(0, 150)), batch(raws.slice(150))])
    await vi.waitFor(() => expect(held.hits).toBe(2), { timeout: 30_000 })
    await sent(devnet, other, 0)
    const answers = (await both).flat()
    expect(answers.map(({ result }) => result)).toEqual(raws.map((raw) => keccak256(raw)))
    expect((await devnet.pool()).length).toBeLessThan(raws.length + 1)
  })
})

describe("anvil's own rules", () => {
  test("the pool and its messages are anvil's: a replacement needs no 10 % raise", async () => {
    await using devnet = await startDevnet({ mining: 'manual', rules: 'anvil' })
    const account = devnet.accounts[0]!
    await sent(devnet, account, 0)
    const second = await sent(devnet, account, 0, { maxFeePerGas: 10n * GWEI + 1n })
    expect(message(await send(devnet, account, 0, { maxFeePerGas: 10n * GWEI + 1n }))).toBe(
      'transaction already imported',
    )
    expect(await rpc(devnet.url, 'eth_getTransactionCount', account.address, 'pending')).toBe('0x1')
    await devnet.seal()
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', second)).toMatchObject({ blockNumber: '0x1' })
    expect(message(await send(devnet, account, 0))).toBe('nonce too low')
  })
})
