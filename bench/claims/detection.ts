import { createWalletClient, type Hex, http, type LocalAccount, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Tx } from '../../src/index.js'
import { nativeAccount } from '../../src/signer/index.js'
import { createPlainRpc } from '../../test/demo/plainRpc.js'
import { pause } from '../../test/support/pause.js'
import { atMost, type Claim, type Context, medianOf } from '../claim.js'
import { openSender } from '../subjects/txlane.js'
import { type FlashChain, flashChainAt, startFlashChain } from '../support/flashChain.js'
import { CHAIN_ID, type Fresh, freshAccount, givenTransfer, requireOnce } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { sharedNowMs } from '../support/sharedNow.js'
import { figuresOf, percentileOf } from '../support/spread.js'
import { headDetection } from './detection/heads.js'

const DETECTION = 'from visible in a flashblock to known'
const POLLS = 'polls while somebody waits, and nothing is sent'
// Out of step with the flashblocks, so that the samples differ in phase.
const PAUSE_MS_MAX = 400

type Opened = {
  /** Sends a transfer, waits until it is known to be in a block, and returns the time of that knowledge. */
  one(number: number): Promise<{ hash: Hex; knownAtMs: number }>
  /** Waits for several seconds, if the subject's polls can be counted meanwhile. */
  readonly linger?: () => Promise<void>
  close(): Promise<void>
}
type Watching = {
  readonly name: string
  /** Peers send fewer transactions: each takes seconds, and is far from the target. */
  readonly share: number
  open(url: string, fresh: Fresh): Promise<Opened>
}
type Round = {
  readonly detectionMs: readonly number[]
  readonly pollsPerSecond: number | undefined
}

function viemClient(url: string, { privateKey }: Fresh) {
  const account = privateKeyToAccount(privateKey)
  return createWalletClient({ account, chain: flashChainAt(url), transport: http(url) }).extend(publicActions)
}

function signed(account: LocalAccount, number: number): Promise<Hex> {
  const given = { type: 'eip1559', chainId: CHAIN_ID, ...givenTransfer(number) } as const
  return account.signTransaction({ ...given, nonce: number - 1 })
}

const TXLANE: Watching = {
  name: "txlane, wait('preconfirmed')",
  share: 1,
  async open(url, { privateKey }) {
    const account = nativeAccount(privateKey)
    const sender = openSender({ url, chain: flashChainAt(url), privateKey }, { account })
    await sender.ready()
    let last: Tx | undefined
    return {
      async one(number) {
        const tx = await sender.send(givenTransfer(number))
        const { hash } = await tx.wait('preconfirmed')
        last = tx
        return { hash, knownAtMs: sharedNowMs() }
      },
      // Two blocks on the devnet take at least four seconds.
      async linger() {
        await last?.wait('safe')
      },
      close: () => sender.close(),
    }
  },
}

const VIEM_WAIT: Watching = {
  name: 'viem, waitForTransactionReceipt',
  share: 0.25,
  async open(url, fresh) {
    const client = viemClient(url, fresh)
    return {
      async one(number) {
        const serializedTransaction = await signed(client.account, number)
        const hash = await client.sendRawTransaction({ serializedTransaction })
        await client.waitForTransactionReceipt({ hash })
        return { hash, knownAtMs: sharedNowMs() }
      },
      close: async () => undefined,
    }
  },
}

const VIEM_SYNC: Watching = {
  name: 'viem, sendRawTransactionSync',
  share: 0.25,
  async open(url, fresh) {
    const client = viemClient(url, fresh)
    return {
      async one(number) {
        const serializedTransaction = await signed(client.account, number)
        const { transactionHash } = await client.sendRawTransactionSync({ serializedTransaction })
        return { hash: transactionHash, knownAtMs: sharedNowMs() }
      },
      close: async () => undefined,
    }
  },
}

export const claim: Claim = {
  says: 'A transaction is known to be pre-confirmed, or in a block, as soon as the node shows it.',
  transactions: 40,
  async run(context) {
    const heads = await headDetection(context)
    await using chain = await startFlashChain()
    const { values, failures } = await takeTurns({
      subjects: [TXLANE, VIEM_WAIT, VIEM_SYNC],
      rounds: context.rounds,
      run: (subject, { round }) => watchOneByOne(chain, subject, round, context),
      show: ({ detectionMs, pollsPerSecond }) =>
        `${detectionMs.map((ms) => ms.toFixed(0)).join(' ')} ms${pollsPerSecond === undefined ? '' : `, ${pollsPerSecond.toFixed(1)} polls a second`}`,
      say: context.say,
    })
    const samples = new Map([...values].map(([name, all]) => [name, all.flatMap((one) => one.detectionMs)]))
    const polls = (values.get(TXLANE.name) ?? []).flatMap(({ pollsPerSecond }) => pollsPerSecond ?? [])
    const figures = [
      ...figuresOf({ measure: DETECTION, unit: 'ms, of all samples' }, samples),
      ...figuresOf({ measure: POLLS, unit: 'a second' }, [[TXLANE.name, polls]]),
      ...heads.figures,
    ]
    const own = samples.get(TXLANE.name) ?? []
    return {
      figures,
      checks: [
        atMost('ms, median', medianOf(figures, DETECTION, TXLANE.name), 25),
        atMost('ms, 99th percentile', percentileOf(own, 0.99), 225),
        atMost('polls a second', medianOf(figures, POLLS, TXLANE.name), 6),
        ...heads.checks,
      ],
      notes: [
        'Flashblocks every 200 ms. The process that makes them records the time of each with the clock that all processes share, independently of the libraries.',
        'Chains without pre-confirmations are an anvil with blocks of 200 ms and of 2 s. The announcement of each block is timed by a subscription of the measuring process. A sample of watchBlocks is the first block after a send.',
        `${own.length} samples of txlane. A poll is a request for a block.`,
        ...failures,
      ],
    }
  },
}

async function watchOneByOne(
  chain: FlashChain,
  { name, share, open }: Watching,
  round: number,
  { transactions }: Context,
): Promise<Round> {
  const count = Math.max(1, Math.ceil(transactions * share * (round === 0 ? 0.25 : 1)))
  const node = { url: chain.directUrl, rpc: createPlainRpc(chain.directUrl) }
  const fresh = await freshAccount(node, `detection ${name} ${round}`)
  const { one, linger, close } = await open(chain.url, fresh)
  const detectionMs: number[] = []
  try {
    for (let number = 1; number <= count; number++) {
      await pause(Math.random() * PAUSE_MS_MAX)
      const { hash, knownAtMs } = await one(number)
      detectionMs.push(knownAtMs - (await chain.visibleAtMs(hash)))
    }
    const pollsPerSecond = linger && (await countPolls(chain, linger))
    await requireOnce(node, fresh, count)
    return { detectionMs, pollsPerSecond }
  } finally {
    await close()
  }
}

async function countPolls(chain: FlashChain, linger: () => Promise<void>): Promise<number> {
  await chain.polls()
  const begunAtMs = sharedNowMs()
  await linger()
  const lastedMs = sharedNowMs() - begunAtMs
  return ((await chain.polls()) * 1_000) / lastedMs
}
