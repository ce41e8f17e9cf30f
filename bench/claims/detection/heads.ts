import {
  type Chain,
  createClient,
  createWalletClient,
  type Hex,
  http,
  type LocalAccount,
  publicActions,
  webSocket,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createSender, memoryStore } from '../../../src/index.js'
import { nativeAccount } from '../../../src/signer/index.js'
import { startNodeProxy } from '../../../test/support/nodeProxy.js'
import { pause } from '../../../test/support/pause.js'
import { startSocketProxy } from '../../../test/support/socketProxy.js'
import { atMost, type Check, type Context, type Figure } from '../../claim.js'
import { type AnnouncedHeads, watchHeads } from '../../support/announcedHeads.js'
import {
  CHAIN_ID,
  chainOf,
  type Fresh,
  freshAccount,
  givenTransfer,
  type Node,
  startNode,
} from '../../support/node.js'
import { takeTurns } from '../../support/rounds.js'
import { sharedNowMs } from '../../support/sharedNow.js'
import { figuresOf, percentileOf } from '../../support/spread.js'

const CHAINS = [
  { periodMs: 200, share: 1 },
  { periodMs: 750, share: 0.4 },
  { periodMs: 2_000, share: 0.15 },
]
/** Transfers before the first sample: a poller learns the period of the blocks from some of them. */
const FIRST = 10
const POLL = 'eth_getBlockByNumber'

type Transport = 'polls' | 'push'
type Known = { readonly block: Hex; readonly atMs: number }
type Opened = { one(number: number): Promise<Known>; close(): Promise<void> }
type Subject = {
  readonly name: string
  readonly by: Transport
  open(url: string, periodMs: number, fresh: Fresh): Opened
}

const transportOf = (by: Transport, url: string) => (by === 'push' ? webSocket(url) : http(url))

const txlane = (by: Transport): Subject => ({
  name: `txlane, wait('sealed') by ${by}`,
  by,
  open(url, periodMs, { privateKey }) {
    const chain = chainOf(url, { id: CHAIN_ID, blockMs: periodMs })
    const client = createClient({ chain, transport: transportOf(by, url) })
    const account = nativeAccount(privateKey)
    const sender = createSender({ client, account, store: memoryStore(), lossDepth: 'child' })
    return {
      async one(number) {
        const tx = await sender.send(givenTransfer(number))
        const { receipt } = await tx.wait('sealed')
        return { block: receipt.blockHash, atMs: sharedNowMs() }
      },
      async close() {
        await sender.close()
        await closeSocket(client)
      },
    }
  },
})

function viemClient(by: Transport, url: string, own: { account: LocalAccount; chain: Chain }) {
  return createWalletClient({ ...own, transport: transportOf(by, url) }).extend(publicActions)
}

/** viem sends the transfers itself; `known` waits for one of them. */
function viem(
  name: string,
  by: Transport,
  known: (client: ViemClient, hash: Hex) => Promise<Known>,
): Subject {
  return {
    name: `viem, ${name} by ${by}`,
    by,
    open(url, periodMs, { privateKey }) {
      const chain = chainOf(url, { id: CHAIN_ID, blockMs: periodMs })
      const account = privateKeyToAccount(privateKey)
      const client = viemClient(by, url, { account, chain })
      return {
        async one(number) {
          const given = {
            type: 'eip1559',
            chainId: CHAIN_ID,
            ...givenTransfer(number),
            nonce: number - 1,
          } as const
          const signed = await account.signTransaction(given)
          return known(client, await client.sendRawTransaction({ serializedTransaction: signed }))
        },
        close: () => closeSocket(client),
      }
    },
  }
}

/** viem connects again for as long as its socket client is open. */
async function closeSocket({ transport }: { readonly transport: object }): Promise<void> {
  const { getRpcClient } = transport as { getRpcClient?: () => Promise<{ close(): void }> }
  const client = await getRpcClient?.()
  client?.close()
}

type ViemClient = ReturnType<typeof viemClient>

async function byReceipt(client: ViemClient, hash: Hex): Promise<Known> {
  const { blockHash } = await client.waitForTransactionReceipt({ hash })
  return { block: blockHash, atMs: sharedNowMs() }
}

/** The first block after the send, whether the transfer is in it or not. */
function byBlock(client: ViemClient): Promise<Known> {
  return new Promise((resolve, reject) => {
    const stop = client.watchBlocks({
      onBlock({ hash }, before) {
        // By polls the first call has a block that may be old.
        if (before === undefined && client.transport.type !== 'webSocket') return
        stop()
        resolve({ block: hash, atMs: sharedNowMs() })
      },
      onError: reject,
    })
  })
}

const SUBJECTS: readonly Subject[] = (['polls', 'push'] as const).flatMap((by) => [
  txlane(by),
  viem('waitForTransactionReceipt', by, byReceipt),
  viem('watchBlocks', by, byBlock),
])

type Round = { readonly detectionMs: readonly number[]; readonly pollsPerSecond: number }

/** On chains without pre-confirmations: from the announcement of a block until it is known. */
export async function headDetection(
  context: Context,
): Promise<{ readonly figures: readonly Figure[]; readonly checks: readonly Check[] }> {
  const figures: Figure[] = []
  const checks: Check[] = []
  for (const { periodMs, share } of CHAINS) {
    await using node = await startNode(periodMs)
    await using heads = await watchHeads(node.url)
    const { values } = await takeTurns({
      subjects: SUBJECTS,
      rounds: context.rounds,
      warmUps: 0,
      run: (subject, { round }) =>
        detect({ node, heads, periodMs }, subject, {
          words: `heads ${periodMs} ${subject.name} ${round}`,
          count: Math.ceil(context.transactions * share),
        }),
      show: ({ detectionMs, pollsPerSecond }) =>
        `${detectionMs.map((ms) => ms.toFixed(0)).join(' ')} ms, ${pollsPerSecond.toFixed(1)} polls a second`,
      say: context.say,
    })
    const measure = `from the announcement of a block until it is known, a block each ${periodMs} ms`
    const polls = `block requests meanwhile, a block each ${periodMs} ms`
    const all = (of: (round: Round) => readonly number[]) =>
      [...values].map(([name, rounds]) => [name, rounds.flatMap(of)] as const)
    figures.push(
      ...figuresOf(
        { measure, unit: 'ms, of all samples' },
        all(({ detectionMs }) => detectionMs),
      ),
      ...figuresOf(
        { measure: polls, unit: 'a second' },
        all(({ pollsPerSecond }) => [pollsPerSecond]),
      ),
    )
    const pollsOf = (name: string) => (values.get(name) ?? []).map(({ pollsPerSecond }) => pollsPerSecond)
    for (const [by, medianMs] of [
      ['polls', 25],
      ['push', 10],
    ] as const) {
      const { name } = txlane(by)
      const own = (values.get(name) ?? []).flatMap(({ detectionMs }) => detectionMs)
      const about = `by ${by}, a block each ${periodMs} ms`
      checks.push(
        atMost(`ms, median ${about}`, percentileOf(own, 0.5), medianMs),
        atMost(`ms, 99th percentile ${about}`, percentileOf(own, 0.99), 225),
        ...(by === 'polls' ? [atMost(`polls a second ${about}`, percentileOf(pollsOf(name), 0.5), 6)] : []),
      )
    }
  }
  return { figures, checks }
}

async function detect(
  { node, heads, periodMs }: { node: Node; heads: AnnouncedHeads; periodMs: number },
  { by, open }: Subject,
  { words, count }: { words: string; count: number },
): Promise<Round> {
  await using proxy = await proxyTo(node.url, by)
  const fresh = await freshAccount(node, words)
  const { one, close } = open(proxy.url, periodMs, fresh)
  const detectionMs: number[] = []
  try {
    for (let number = 1; number <= FIRST; number++) await one(number)
    proxy.polls()
    const begunMs = sharedNowMs()
    for (let number = FIRST + 1; number <= FIRST + count; number++) {
      await pause(Math.random() * 2 * periodMs)
      const { block, atMs } = await one(number)
      detectionMs.push(atMs - (await heads.atMs(block)))
    }
    return { detectionMs, pollsPerSecond: (proxy.polls() * 1_000) / (sharedNowMs() - begunMs) }
  } finally {
    await close()
  }
}

type Proxy = AsyncDisposable & { readonly url: string; polls(): number }

async function proxyTo(url: string, by: Transport): Promise<Proxy> {
  const proxy = await (by === 'push' ? startSocketProxy(url) : startNodeProxy(url))
  return {
    url: proxy.url,
    polls() {
      const taken = proxy.take()
      return 'requestsWith' in taken && typeof taken.requestsWith === 'function'
        ? taken.requestsWith(POLL)
        : ((taken as Readonly<Record<string, number>>)[POLL] ?? 0)
    },
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}
