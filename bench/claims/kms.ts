import { performance } from 'node:perf_hooks'
import { secp256k1 } from '@noble/curves/secp256k1'
import { type Hex, hexToBytes } from 'viem'
import type { AwsKmsClient } from '../../src/kms/index.js'
import { awsKmsAccount } from '../../src/kms/index.js'
import { loadNative } from '../../src/signer/engine.js'
import { pause } from '../../test/support/pause.js'
import { atLeast, atMost, type Claim, medianOf } from '../claim.js'
import { openSender } from '../subjects/txlane.js'
import {
  chainOf,
  freshAccount,
  givenTransfer,
  keyOf,
  type Node,
  requireOnce,
  startNode,
} from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const SIGN_MS = 50
const AT_ONCE = 16
const MEASURE = 'until all are accepted, or signed'
const IN_USE = 'signatures under way, on average'
const SUBJECT = 'txlane, awsKmsAccount'
const SPKI_HEAD = Buffer.from('3056301006072a8648ce3d020106052b8104000a034200', 'hex')

type SlowService = AwsKmsClient & {
  /** Maximum number of concurrent signatures. */
  readonly most: () => number
  /** Total duration of all signatures, in milliseconds. */
  readonly workedMs: () => number
}

/** A key service with a fixed delay per signature. */
async function slowService(privateKey: Hex): Promise<SlowService> {
  const key = hexToBytes(privateKey)
  const engine = await loadNative()
  let [under, most, workedMs] = [0, 0, 0]
  return {
    most: () => most,
    workedMs: () => workedMs,
    getPublicKey: async () => ({
      PublicKey: Uint8Array.from([...SPKI_HEAD, ...secp256k1.getPublicKey(key, false)]),
      KeyUsage: 'SIGN_VERIFY',
    }),
    async sign({ Message }) {
      most = Math.max(most, ++under)
      const begun = performance.now()
      await pause(SIGN_MS)
      workedMs += performance.now() - begun
      under--
      const { rs } = engine.sign(Message, key)
      return { Signature: secp256k1.Signature.fromCompact(rs).toDERRawBytes() }
    },
  }
}

type Round = { readonly ms: number; readonly inUse: number }
type Burst = { readonly node: Node; readonly words: string; readonly count: number }

/** Time from the first send until the last acceptance. */
async function send({ node, words, count }: Burst): Promise<Round> {
  const fresh = await freshAccount(node, words)
  const service = await slowService(fresh.privateKey)
  const account = await awsKmsAccount({ client: service, keyId: 'bench', concurrency: AT_ONCE })
  const sender = openSender({ ...fresh, url: node.url, chain: chainOf(node.url) }, { account })
  try {
    await sender.ready()
    const begun = performance.now()
    await Promise.all(Array.from({ length: count }, (_, index) => sender.send(givenTransfer(index + 1))))
    const ms = performance.now() - begun
    if (service.most() > AT_ONCE) throw new Error(`${service.most()} signatures at once`)
    await requireOnce(node, fresh, count)
    return { ms, inUse: service.workedMs() / ms }
  } finally {
    await sender.close()
  }
}

/** Concurrent loops that request one signature after another and discard it: the limit of this machine. */
async function askAlone({ words, count }: Burst): Promise<Round> {
  const service = await slowService(keyOf(words).privateKey)
  const Message = new Uint8Array(32)
  let left = count
  const loop = async () => {
    while (left-- > 0)
      await service.sign({
        KeyId: 'bench',
        Message,
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      })
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
  const ms = performance.now() - begun
  return { ms, inUse: service.workedMs() / ms }
}

const SUBJECTS = [
  { name: SUBJECT, run: send },
  { name: 'the service alone', run: askAlone },
]

export const claim: Claim = {
  says: 'With a key in a key service, a burst is signed as fast as the service allows.',
  transactions: 1_000,
  async run({ rounds, transactions, say }) {
    await using node = await startNode()
    const { values, failures } = await takeTurns({
      subjects: SUBJECTS,
      rounds,
      run: ({ run }, { round }) => run({ node, words: `kms ${round}`, count: transactions }),
      show: ({ ms, inUse }) => `${Math.round(ms)} ms, ${inUse.toFixed(1)} at once`,
      say,
    })
    const idealMs = Math.ceil(transactions / AT_ONCE) * SIGN_MS
    const samples = (of: (round: Round) => number) =>
      [...values].map(([name, all]) => [name, all.map(of)] as const)
    const figures = [
      ...figuresOf(
        { measure: MEASURE, unit: 'ms' },
        samples(({ ms }) => ms),
      ),
      ...figuresOf(
        { measure: IN_USE, unit: `of ${AT_ONCE}` },
        samples(({ inUse }) => inUse),
      ),
    ]
    const ms = medianOf(figures, MEASURE, SUBJECT)
    return {
      figures,
      checks: [
        atMost(
          `times the ${idealMs} ms that ${transactions} signatures of ${SIGN_MS} ms take, ${AT_ONCE} at once`,
          ms === undefined ? undefined : ms / idealMs,
          1.2,
        ),
        atLeast(`signatures under way, of ${AT_ONCE}`, medianOf(figures, IN_USE, SUBJECT), 0.95 * AT_ONCE),
      ],
      notes: [
        `The service is a timer of ${SIGN_MS} ms and native code in the same process. Each signature is checked against the public key. On a busy machine the timers fire late; the number of concurrent signatures shows whether the service waited for the lane. Gas and fees are given; all ${transactions} are in anvil's blocks, each once.`,
        ...failures,
      ],
    }
  },
}
