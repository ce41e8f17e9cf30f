import {
  type Address,
  ContractFunctionRevertedError,
  encodeFunctionData,
  type Hex,
  type LocalAccount,
} from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  createSender,
  type Item,
  memoryStore,
  type Sender,
  type Tx,
  type TxlaneError,
} from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { childContract, ledgerContract } from '../demo/contracts/artifact.js'
import { rpc } from './devnetSupport.js'

const { abi } = ledgerContract

let devnet: Devnet
const opened: Sender[] = []
let nextAccount = 0

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 40 })
})
afterEach(async () => {
  devnet.faults.clear()
  await Promise.all(opened.splice(0).map((sender) => sender.close()))
})
afterAll(() => devnet.stop())

/** A sender of an account that no other test has used. */
function open(on: Devnet = devnet, index = nextAccount++): Sender & { readonly account: LocalAccount } {
  const account = on.accounts[index]
  if (account === undefined) throw new Error('the devnet has no account left')
  const client = on.client(index)
  const limits = { pollIntervalMs: 50, stuckAfterMs: 300, gapFillAfterMs: 200 }
  const sender = createSender({ client, account, store: memoryStore(), limits })
  opened.push(sender)
  return Object.assign(sender, { account })
}

async function deployLedger(sender: Sender): Promise<Address> {
  const tx = await sender.deployContract({ ...ledgerContract, args: [] } as never)
  const { receipt } = await tx.wait('sealed')
  if (!receipt?.contractAddress) throw new Error('nothing was deployed')
  return receipt.contractAddress
}

const mark = (sender: Sender, address: Address, item: bigint, more: object = {}): Promise<Tx> =>
  sender.writeContract({ abi, address, functionName: 'mark', args: [item], ...more } as never)

/** The number of executions of an item, as the contract counts them. */
async function marks(address: Address, item: bigint, on: Devnet = devnet): Promise<bigint> {
  return on.client().readContract({ abi, address, functionName: 'marks', args: [item] }) as Promise<bigint>
}

const rejection = (promise: Promise<unknown>): Promise<TxlaneError> =>
  promise.then(
    () => Promise.reject(new Error('it resolved')),
    (error: TxlaneError) => error,
  )

describe('contracts', () => {
  test('deployContract and writeContract land once each, with the chain-formatted receipts of the node', async () => {
    const sender = open()
    const address = await deployLedger(sender)
    const tx = await mark(sender, address, 7n)
    const landed = await tx.wait('sealed')
    expect(landed).toMatchObject({ stage: 'sealed', status: 'success', nonce: 1 })
    expect(landed.receipt).toEqual(await devnet.client().getTransactionReceipt({ hash: landed.hash }))
    expect(await marks(address, 7n)).toBe(1n)
  })

  test('an estimate that reverts: PREPARE_REVERTED with the decoded custom error, and no nonce is used', async () => {
    const sender = open()
    const address = await deployLedger(sender)
    const call = { abi, address, functionName: 'markAndRevert', args: [9n] }
    const error = await rejection(sender.writeContract(call as never))
    expect(error).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    const cause = error.walk((inner) => inner instanceof ContractFunctionRevertedError)
    expect(cause).toMatchObject({ data: { errorName: 'Refused', args: [9n] } })
    expect(await sender.snapshot()).toMatchObject({ cursor: 1, inFlight: 0 })
  })

  test('executed and reverted is executed: sealed with status reverted, and never sent again', async () => {
    const sender = open()
    const address = await deployLedger(sender)
    const call = { abi, address, functionName: 'markAndRevert', args: [9n], gas: 200_000n }
    const tx = await sender.writeContract(call as never)
    expect(await tx.wait('sealed')).toMatchObject({ status: 'reverted' })
    expect(await rejection(tx.wait('sealed', { throwOnRevert: true }))).toMatchObject({
      code: 'REVERTED',
      fate: 'executed',
    })
    const next = await mark(sender, address, 1n)
    await next.wait('sealed')
    expect(next.nonce).toBe(2)
    expect(await marks(address, 9n)).toBe(0n)
    expect(tx.attempts).toHaveLength(1)
  })

  test('a deployment that needs one in flight is estimated again until that one has landed', async () => {
    const sender = open()
    const ledger = await deployLedger(sender)
    const [first, second] = await Promise.all([
      mark(sender, ledger, 1n),
      sender.deployContract({ ...childContract, args: [ledger, 2n] } as never),
    ])
    await Promise.all([first.wait(), second.wait()])
    expect([await marks(ledger, 1n), await marks(ledger, 2n)]).toEqual([1n, 1n])
  })
})

describe('stages, stepped by hand', () => {
  test('preconfirmed before sealed: each stage when the chain shows it, and not before', async () => {
    await using manual = await startDevnet({ mining: 'manual' })
    const sender = open(manual, 0)
    const tx = await sender.send({ to: sender.account.address, value: 1n, gas: 21_000n })
    expect(tx.stage).toBe('accepted')
    await manual.stepFlashblock()
    const early = await tx.wait('preconfirmed')
    expect(early).toMatchObject({ stage: 'preconfirmed', receipt: { blockHash: null } })
    expect(tx.stage).toBe('preconfirmed')
    const { hash } = await manual.seal()
    expect(await tx.wait('sealed')).toMatchObject({
      stage: 'sealed',
      status: 'success',
      receipt: { blockHash: hash },
    })
    await sender.close()
  })
})

describe('sendMany', () => {
  test('300 items until sealed: each once, and nonces in the order of the items', async () => {
    const sender = open()
    const address = await deployLedger(sender)
    const items: Item[] = Array.from({ length: 300 }, (_, n) => ({
      id: `item-${n}`,
      request: { to: address, data: markData(BigInt(n + 1)), gas: 80_000n },
    }))
    const nonces: number[] = []
    for await (const result of sender.sendMany(items, { until: 'sealed' })) {
      if (!result.ok) throw result.error
      nonces[result.index] = result.landed?.nonce ?? -1
    }
    expect(nonces).toEqual(items.map((_, n) => n + 1))
    expect(await total(address)).toBe(301n)
  })
})

describe('repair', () => {
  test('P4: a foreign transaction takes a nonce: every transaction of ours lands once, at another nonce', async () => {
    const sender = open()
    const address = await deployLedger(sender)
    const foreign: number[] = []
    sender.on('foreign', ({ nonce }) => foreign.push(nonce))
    devnet.faults.inject({ fault: 'foreign', count: 1, method: 'eth_sendRawTransaction' })
    const all = await Promise.all(
      [1n, 2n, 3n, 4n].map((item) => mark(sender, address, item, { gas: 80_000n })),
    )
    await Promise.all(all.map((tx) => tx.wait('sealed')))
    await sender.drain()
    expect(await Promise.all([1n, 2n, 3n, 4n].map((item) => marks(address, item)))).toEqual([1n, 1n, 1n, 1n])
    expect(foreign).toHaveLength(1)
  })

  test.each(['neverPooled', 'evict'] as const)(
    'P3: %s at the head is repaired, and nothing lands twice',
    async (fault) => {
      const sender = open()
      const address = await deployLedger(sender)
      devnet.faults.inject({ fault, count: 2, match: ({ nonce }) => nonce === 1 })
      const all = await Promise.all([1n, 2n, 3n].map((item) => mark(sender, address, item, { gas: 80_000n })))
      const landed = await Promise.all(all.map((tx) => tx.wait('sealed')))
      expect(landed.map(({ nonce }) => nonce)).toEqual([1, 2, 3])
      expect(await total(address)).toBe(4n)
    },
  )

  test('P2: the answer to a send is lost: the same nonce, and it lands once', async () => {
    const sender = open()
    const address = await deployLedger(sender)
    devnet.faults.inject({ fault: 'lostResponse', count: 2, method: 'eth_sendRawTransaction' })
    const all = await Promise.all([1n, 2n, 3n].map((item) => mark(sender, address, item, { gas: 80_000n })))
    await Promise.all(all.map((tx) => tx.wait('sealed')))
    expect(await total(address)).toBe(4n)
  })

  test('row 28: a reorg removes the block: it lands again, once', async () => {
    await using manual = await startDevnet({ mining: 'manual' })
    const sender = open(manual, 0)
    const reorged = new Promise((resolve) => sender.on('reorged', resolve))
    const tx = await sender.send({ to: sender.account.address, value: 1n, gas: 21_000n })
    const { hash } = await manual.seal()
    expect(await tx.wait('sealed')).toMatchObject({ receipt: { blockHash: hash } })
    await manual.reorg(1, { returnToPool: false, replacementBlocks: 2 })
    await reorged
    await resent(manual, sender.account.address)
    const again = await manual.seal()
    expect(await tx.wait('sealed')).toMatchObject({
      status: 'success',
      nonce: 0,
      receipt: { blockHash: again.hash },
    })
    await sender.close()
  })

  /** Polls until the node's pool holds a transaction of this account. */
  async function resent(on: Devnet, from: Address): Promise<void> {
    for (;;) {
      const found = (await on.pool()).some((item) => item.from.toLowerCase() === from.toLowerCase())
      if (found) return
      await rpc(on.url, 'eth_blockNumber')
    }
  }
})

const markData = (item: bigint): Hex => encodeFunctionData({ abi, functionName: 'mark', args: [item] })

async function total(address: Address): Promise<bigint> {
  return devnet.client().readContract({ abi, address, functionName: 'total' }) as Promise<bigint>
}
