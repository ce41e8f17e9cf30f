import { createWalletClient, type Hex, http, keccak256 } from 'viem'
import { laneActions } from '../../src/index.js'
import { systemClock } from '../../src/platform/clock.js'
import { nativeAccount } from '../../src/signer/index.js'
import { findGeth } from '../../test/nodes/find/geth.js'
import { startNodeProxy } from '../../test/support/nodeProxy.js'
import { pause } from '../../test/support/pause.js'
import { atMost, type Claim, type Context, type Figure, ratioOf } from '../claim.js'
import { openSender } from '../subjects/txlane.js'
import { paidAccount, startGeth } from '../support/geth.js'
import {
  CHAIN_ID,
  type ChainFacts,
  chainOf,
  type Fresh,
  freshAccount,
  givenTransfer,
  type Node,
  requireOnce,
  startNode,
} from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const ROUND_TRIP_MS = 20
const BLOCK_MS = 200
/** Out of step with the blocks, so that the samples differ in phase. */
const PAUSE_MS_MAX = 300
const LOOK_MS = 2

type Opened = { one(number: number): Promise<Hex>; close(): Promise<void> }
type Site = { readonly url: string; readonly chain: ChainFacts; readonly fresh: Fresh }
type Subject = { readonly name: string; open(site: Site): Promise<Opened> }

const client = ({ url, chain, fresh: { privateKey } }: Site) =>
  createWalletClient({ account: nativeAccount(privateKey), chain: chainOf(url, chain), transport: http(url) })

const TXLANE: Subject = {
  name: 'txlane, sendTransactionSync',
  async open(site) {
    const { account, chain, transport } = { ...client(site), transport: http(site.url) }
    const sender = openSender({ url: site.url, chain, privateKey: site.fresh.privateKey }, { account })
    await sender.ready()
    const lane = createWalletClient({ account, chain, transport }).extend(laneActions(sender))
    return {
      async one(number) {
        const request = { ...givenTransfer(number), account, chain }
        const { transactionHash } = await lane.sendTransactionSync(request as never)
        return transactionHash
      },
      close: () => sender.close(),
    }
  },
}

const VIEM: Subject = {
  name: 'viem, sendRawTransactionSync',
  async open(site) {
    const { account, ...viem } = client(site)
    return {
      async one(number) {
        const given = { type: 'eip1559', chainId: site.chain.id, ...givenTransfer(number) } as const
        const serializedTransaction = await account.signTransaction({ ...given, nonce: number - 1 })
        // anvil 1.7 takes no timeout, which viem sends by default with a chain.
        const params = [serializedTransaction, ...(site.chain.id === CHAIN_ID ? [] : [5_000])] as const
        await viem.request({ method: 'eth_sendRawTransactionSync', params } as never)
        return keccak256(serializedTransaction)
      },
      close: async () => undefined,
    }
  },
}

/** From the call to the receipt, and from the block at the node to the receipt. */
type Sample = { readonly callMs: number; readonly blockMs: number; readonly requests: number }

export const claim: Claim = {
  says: 'The receipt of a single transaction comes with the answer to its send, as with viem sending raw bytes.',
  transactions: 20,
  async run(context) {
    await using anvil = await startNode(BLOCK_MS)
    const file = await findGeth()
    await using geth = file === undefined ? undefined : await startGeth(file)
    const sites = [
      { label: 'anvil', node: anvil, chain: { id: CHAIN_ID, blockMs: BLOCK_MS }, pay: freshAccount },
      ...(geth ? [{ label: 'geth', node: geth, chain: geth.chain, pay: paidAccount }] : []),
    ]
    const figures: Figure[] = []
    const failures: string[] = []
    for (const { label, node, chain, pay } of sites) {
      const turns = await takeTurns({
        subjects: [TXLANE, VIEM],
        rounds: context.rounds,
        run: async (subject, { round }) =>
          turn(subject, { node, chain, fresh: await pay(node, `sync ${subject.name} ${round}`) }, context),
        show: (samples) => samples.map(({ blockMs }) => blockMs.toFixed(0)).join(' '),
        say: (line) => context.say(`${label}: ${line}`),
      })
      failures.push(...turns.failures)
      const of = (measure: string, unit: string, value: (sample: Sample) => number) =>
        figuresOf(
          { measure: `${measure}, ${label}`, unit },
          [...turns.values].map(([name, all]) => [name, all.flat().map(value)] as const),
        )
      figures.push(
        ...of(CALL, 'ms, of all samples', ({ callMs }) => callMs),
        ...of(BLOCK, 'ms, of all samples', ({ blockMs }) => blockMs),
        ...of(REQUESTS, 'of all samples', ({ requests }) => requests),
      )
    }
    const ratio = (measure: string) => ratioOf(figures, measure, TXLANE.name, { subject: VIEM.name })
    return {
      figures,
      checks: sites.flatMap(({ label }) => [
        atMost(`of viem's time from the block to the receipt, ${label}`, ratio(`${BLOCK}, ${label}`), 1.25),
        atMost(`of viem's time from the call to the receipt, ${label}`, ratio(`${CALL}, ${label}`), 1.25),
      ]),
      notes: [
        `A proxy adds ${ROUND_TRIP_MS} ms to each round trip; anvil makes a block every ${BLOCK_MS} ms, geth every second. One transaction at a time, each after a pause of up to ${PAUSE_MS_MAX} ms.`,
        'The time of the block is read from the node directly. txlane assigns the nonce, and its poller goes on; viem sends signed bytes with a given nonce.',
        ...failures,
      ],
    }
  },
}

const CALL = 'from the call to the receipt'
const BLOCK = 'from the block at the node to the receipt'
const REQUESTS = 'HTTP requests meanwhile'

async function turn(
  { open }: Subject,
  site: { readonly node: Node; readonly chain: ChainFacts; readonly fresh: Fresh },
  { transactions }: Context,
): Promise<readonly Sample[]> {
  const { node, chain, fresh } = site
  await using proxy = await startNodeProxy(node.url, { roundTripMs: ROUND_TRIP_MS })
  const { one, close } = await open({ url: proxy.url, chain, fresh })
  const samples: Sample[] = []
  try {
    // The first one makes a lane ask the endpoint for the method.
    await one(1)
    for (let number = 2; number <= transactions; number++) {
      await pause(chain.blockMs + Math.random() * PAUSE_MS_MAX)
      proxy.take()
      const calledMs = systemClock.now()
      const inBlock = usedAt(node, fresh, number)
      await one(number)
      const knownMs = systemClock.now()
      const { requests } = proxy.take()
      samples.push({ callMs: knownMs - calledMs, blockMs: Math.max(0, knownMs - (await inBlock)), requests })
    }
    await requireOnce(node, fresh, transactions)
  } finally {
    await close()
  }
  return samples
}

/** When a block has used this many nonces, in clock milliseconds. */
async function usedAt({ rpc }: Node, { address }: Fresh, count: number): Promise<number> {
  while (Number((await rpc.call('eth_getTransactionCount', address, 'latest')) as Hex) < count)
    await pause(LOOK_MS)
  return systemClock.now()
}
