import { performance } from 'node:perf_hooks'
import { createWalletClient, type Hex, http, type LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { nativeAccount } from '../../src/signer/index.js'
import { pause } from '../../test/support/pause.js'
import { atMost, ratioOf } from '../check.js'
import type { Claim, Context } from '../claim.js'
import { openSender } from '../subjects/txlane.js'
import { watchSends } from '../support/fetchWatch.js'
import {
  CHAIN_ID,
  chainOf,
  freshAccount,
  givenTransfer,
  type Node,
  requireOnce,
  startNode,
} from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

// Blocks come every 200 ms here: by then nothing of the transfer before is left to do.
const IDLE_MS = 450
const SENDING = 'from the call to the bytes handed to fetch'
const SIGNING = 'signing alone'

type Opened = { readonly send: (number: number) => Promise<unknown>; readonly close: () => Promise<void> }
type Sending = {
  readonly name: string
  readonly account: (privateKey: Hex) => LocalAccount
  open(url: string, privateKey: Hex, account: LocalAccount): Promise<Opened>
}
type Sample = { readonly sendingMs: number; readonly signingMs: number }

async function openLane(url: string, privateKey: Hex, account: LocalAccount): Promise<Opened> {
  const sender = openSender({ url, chain: chainOf(url), privateKey }, { account })
  await sender.ready()
  return { send: (number) => sender.send(givenTransfer(number)), close: () => sender.close() }
}

const TXLANE: Sending = { name: "txlane, viem's key", account: privateKeyToAccount, open: openLane }
const SUBJECTS: readonly Sending[] = [
  TXLANE,
  { name: 'txlane, nativeAccount', account: nativeAccount, open: openLane },
  {
    name: 'viem',
    account: (privateKey) =>
      privateKeyToAccount(privateKey, { nonceManager: createNonceManager({ source: jsonRpc() }) }),
    async open(url, _, account) {
      const client = createWalletClient({ account, chain: chainOf(url), transport: http(url) })
      const given = (number: number) => ({ ...givenTransfer(number), type: 'eip1559' }) as const
      return { send: (number) => client.sendTransaction(given(number)), close: async () => undefined }
    },
  },
]

export const claim: Claim = {
  says: 'An idle lane adds next to nothing to the time that signing takes.',
  transactions: 20,
  async run(context) {
    await using node = await startNode()
    using watch = watchSends()
    const { values, failures } = await takeTurns({
      subjects: SUBJECTS,
      rounds: context.rounds,
      run: (subject, { round }) => sendOneByOne(node, watch, subject, round, context),
      show: (samples) => `${samples.map(({ sendingMs }) => sendingMs.toFixed(2)).join(' ')} ms`,
      say: context.say,
    })
    const label = { unit: 'ms, of all samples' }
    const samples = (of: (sample: Sample) => number) =>
      [...values].map(([name, rounds]) => [name, rounds.flat().map(of)] as const)
    const figures = [
      ...figuresOf(
        { ...label, measure: SENDING },
        samples(({ sendingMs }) => sendingMs),
      ),
      ...figuresOf(
        { ...label, measure: SIGNING },
        samples(({ signingMs }) => signingMs),
      ),
    ]
    const ratio = ratioOf(figures, SENDING, TXLANE.name, { subject: TXLANE.name, measure: SIGNING })
    return {
      figures,
      checks: [atMost("times the time of signing with viem's privateKeyToAccount, medians", ratio, 1.2)],
      notes: [
        'Gas and fees given, nothing in flight. The same account signs a like transfer by itself before every send.',
        ...failures,
      ],
    }
  },
}

async function sendOneByOne(
  node: Node,
  watch: ReturnType<typeof watchSends>,
  subject: Sending,
  round: number,
  { transactions }: Context,
): Promise<readonly Sample[]> {
  const fresh = await freshAccount(node, `latency ${subject.name} ${round}`)
  const account = subject.account(fresh.privateKey)
  const { send, close } = await subject.open(node.url, fresh.privateKey, account)
  const samples: Sample[] = []
  try {
    for (let number = 1; number <= transactions; number++) {
      await pause(IDLE_MS)
      const signingMs = await timeSigning(account, number)
      const begun = performance.now()
      watch.forget()
      await send(number)
      samples.push({ sendingMs: watch.sentAt() - begun, signingMs })
    }
    await requireOnce(node, fresh, transactions)
    return samples
  } finally {
    await close()
  }
}

async function timeSigning(account: LocalAccount, number: number): Promise<number> {
  const begun = performance.now()
  await account.signTransaction({
    type: 'eip1559',
    chainId: CHAIN_ID,
    nonce: number - 1,
    ...givenTransfer(number),
  })
  return performance.now() - begun
}
