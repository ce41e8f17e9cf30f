import { type Address, type Hex, keccak256, type LocalAccount, parseGwei } from 'viem'
import { describe, expect, inject, test } from 'vitest'
import { startDevnet } from '../../tools/devnet/index.js'
import { DEPLOY, type Listener, listen } from '../integration/devnetSupport.js'
import { freePort } from '../support/freePort.js'
import { anvil } from './nodes/anvil.js'
import type { NodeDescription } from './nodes/description.js'
import { geth } from './nodes/geth.js'
import { startNode } from './run/startNode.js'
import { freshAccount } from './tools/accounts.js'

/** A node whose blocks are made by hand, over WebSocket. */
type Subject = AsyncDisposable & {
  readonly wsUrl: string
  readonly chainId: number
  readonly account: LocalAccount
  send(raw: Hex): Promise<unknown>
  mine(): Promise<void>
  /** Calls `build`, and takes the blocks that it made off the chain. */
  rewinding(build: () => Promise<void>): Promise<void>
}

const WEBSOCKET: Readonly<Record<string, (port: number) => readonly string[]>> = {
  geth: (port) => ['--ws', '--ws.port', String(port), '--ws.api', 'eth'],
  anvil: () => [],
}

async function realNode(description: NodeDescription): Promise<Subject> {
  const port = await freePort()
  const more = WEBSOCKET[description.name]!(port)
  const running = await startNode(description, await description.locate(() => undefined), {
    mode: 'manual',
    more,
  })
  const { account } = await freshAccount(running)
  const { rpc } = running
  return {
    wsUrl: more.length > 0 ? `ws://127.0.0.1:${port}` : running.url.replace('http', 'ws'),
    chainId: Number(await rpc.call('eth_chainId')),
    account,
    send: (raw) => rpc.call('eth_sendRawTransaction', raw),
    mine: running.mine,
    async rewinding(build) {
      const rewind = await description.markForRewind(rpc)
      await build()
      await rewind()
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

async function devnetOf(rules: 'geth' | 'anvil'): Promise<Subject> {
  const devnet = await startDevnet({ mode: 'plain', mining: 'manual', rules })
  let mined = 0
  return {
    wsUrl: devnet.wsUrl,
    chainId: devnet.chain.id,
    account: devnet.accounts[0]!,
    send: (serializedTransaction) => devnet.client().sendRawTransaction({ serializedTransaction }),
    async mine() {
      await devnet.seal()
      mined += 1
    },
    async rewinding(build) {
      const before = mined
      await build()
      await devnet.reorg(mined - before, { replacementBlocks: 0 })
    },
    [Symbol.asyncDispose]: () => devnet.stop(),
  }
}

type Head = { readonly number: Hex; readonly hash: Hex; readonly parentHash: Hex }

// geth --dev has the fork Amsterdam, and anvil has not.
const AMSTERDAM = new Set(['blockAccessListHash', 'slotNumber'])

/** Announcements are complete when the socket answers a call. */
const fence = (listener: Listener) => listener.ask('eth_chainId')

/** Subscribes, sends, mines, rewinds and unsubscribes; returns the node's answers without their hashes. */
async function walk(subject: Subject) {
  const { account, chainId } = subject
  await using listener = await listen(subject.wsUrl, 'newHeads', ['logs', {}], 'newPendingTransactions')
  const refused = await listener.ask('eth_subscribe', 'nothing')
  const sign = (nonce: number, fields: object) =>
    account.signTransaction({
      type: 'eip1559',
      chainId,
      nonce,
      maxFeePerGas: parseGwei('20'),
      maxPriorityFeePerGas: parseGwei('2'),
      ...fields,
    })
  const transfer = { to: account.address as Address, value: 1n, gas: 21_000n }
  const raws = [await sign(0, DEPLOY), await sign(2, transfer), await sign(1, transfer)]
  const labels = new Map(raws.map((raw, index) => [keccak256(raw), ['first', 'gapped', 'filler'][index]]))
  for (const raw of raws) await subject.send(raw)
  await listener.until('newPendingTransactions', 3)
  await subject.mine()
  await listener.until('logs', 1)
  await subject.rewinding(async () => {
    await subject.mine()
    await subject.mine()
    await listener.until('newHeads', 3)
  })
  // Without it geth would build the same blocks again.
  await subject.send(await sign(3, transfer))
  await subject.mine()
  await subject.mine()
  await listener.until('newHeads', 5)
  const heads = listener.of<Head>('newHeads')
  const start = Number(heads[0]?.number)
  const byHash = new Map(heads.map((head) => [head.hash, Number(head.number) - start]))
  const id = await listener.ask('eth_subscribe', 'newHeads')
  const unsubscribed = await listener.ask('eth_unsubscribe', id.result)
  const again = await listener.ask('eth_unsubscribe', id.result)
  await fence(listener)
  const log = listener.of<Record<string, unknown>>('logs')[0]!
  return {
    refused: { code: refused.error?.code, hasResult: refused.result !== undefined },
    heads: heads.map(({ number, parentHash }) => [Number(number) - start, byHash.get(parentHash)]),
    differentHeads: byHash.size,
    fieldsOfHeads: Object.keys(heads[0]!)
      .filter((field) => !AMSTERDAM.has(field))
      .sort(),
    pending: listener
      .of<Hex>('newPendingTransactions')
      .slice(0, raws.length)
      .map((hash) => labels.get(hash)),
    log: { fields: Object.keys(log).sort(), removed: log.removed, logIndex: log.logIndex },
    unsubscribed: unsubscribed.result,
    again: again.result ?? again.error?.code,
  }
}

const HEADS = [
  [0, undefined],
  [1, 0],
  [2, 1],
  [1, 0],
  [2, 1],
]

describe('subscriptions of the devnet are those of the node that it imitates', () => {
  test.skipIf(inject('geth') === undefined)('geth', async () => {
    await using real = await realNode(geth)
    await using devnet = await devnetOf('geth')
    const [expected, found] = [await walk(real), await walk(devnet)]
    expect(found).toEqual(expected)
    expect(expected).toMatchObject({ heads: HEADS, differentHeads: 5 })
  })

  test('anvil', async () => {
    await using real = await realNode(anvil)
    await using devnet = await devnetOf('anvil')
    const [expected, found] = [await walk(real), await walk(devnet)]
    // The devnet does not see into anvil's pool, so that it announces a gapped transaction at once.
    expect(found.pending.sort()).toEqual([...expected.pending].sort())
    expect(found).toEqual({ ...expected, pending: found.pending })
    expect(expected).toMatchObject({ heads: HEADS, differentHeads: 5 })
  })
})
