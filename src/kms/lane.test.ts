import { describe, expect, test } from 'vitest'
import { createRandom } from '../../test/sim/random.js'
import { openLane, type SimLane, transfer } from '../api/sender/simLane.fixture.js'
import { awsKmsAccountIn } from './awsKms.js'
import { awsError, scriptedAws } from './kms.fixture.js'

const SIGN_MS = 50
const THROTTLED = awsError('ThrottlingException', 'Rate exceeded')

/** A lane whose key is in AWS KMS. The simulated chain reads no real bytes: the account of the lane gives its own for them. */
async function openWith(options: Parameters<typeof scriptedAws>[1], given: object = {}) {
  const lane = await openLane()
  const client = scriptedAws(lane.clock, { ms: () => SIGN_MS, ...options })
  const environment = { clock: lane.clock, random: createRandom(1) }
  const kms = await awsKmsAccountIn(environment, { client, keyId: 'alias/relayer', ...given })
  const { signTransaction } = lane.account
  lane.account.signTransaction = async (...asked: Parameters<typeof signTransaction>) => {
    await kms.signTransaction(...asked)
    return signTransaction(...asked)
  }
  return { lane, client }
}

const send = (lane: SimLane, marker: number) => lane.sender.send(transfer(marker), { id: String(marker) })

/** Each nonce from the first to the last, once. */
const noncesOf = (lane: SimLane) => [...new Set(lane.sent.map(({ nonce }) => nonce))]
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('a lane whose key is in a service', () => {
  test('signs a burst in the time that the service takes for it: 1,000 at 50 ms, 16 at once', async () => {
    const { lane, client } = await openWith({})
    await using _ = lane
    const begunMs = lane.clock.now()
    await lane.settle(Promise.all(upTo(1_000).map((index) => send(lane, index + 1))))
    expect(lane.clock.now() - begunMs).toBeLessThanOrEqual((1.2 * 1_000 * SIGN_MS) / 16)
    expect(client.under.most).toBe(16)
    expect(noncesOf(lane)).toEqual(upTo(1_000))
  })

  test('keeps the order of nonces where the signatures come in another one', async () => {
    const { lane } = await openWith({ ms: (count) => 20 + ((count * 37) % 90) })
    await using _ = lane
    await lane.settle(Promise.all(upTo(200).map((index) => send(lane, index + 1))))
    expect(noncesOf(lane)).toEqual(upTo(200))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual(upTo(200).map((index) => index + 1))
  })

  test('sends all of a burst, each once and in order, while a third of its requests are throttled', async () => {
    const { lane } = await openWith({ fails: (count) => (count % 3 === 0 ? THROTTLED : undefined) })
    await using _ = lane
    await lane.settle(Promise.all(upTo(200).map((index) => send(lane, index + 1))))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual(upTo(200).map((index) => index + 1))
    expect(lane.events('error')).toEqual([])
  })
})

describe('a service that does not sign', () => {
  const FAILURES: Readonly<Record<string, unknown>> = {
    'throttles for longer than there is time': THROTTLED,
    'does not answer': 'never',
    'has no such key any more': awsError(
      'DisabledException',
      'arn:aws:kms:eu-central-1:1:key/2 is disabled.',
    ),
  }

  test.each(Object.entries(FAILURES))(
    'and %s ends its transactions with SIGNER, notExecuted, and leaves no gap',
    async (_, failure) => {
      let isDown = false
      const { lane } = await openWith(
        { fails: () => (isDown ? failure : undefined) },
        { timeoutMs: 3_000, requestTimeoutMs: 1_000 },
      )
      await using _lane = lane
      const before = upTo(20).map((index) => send(lane, index + 1))
      await lane.settle(Promise.all(before))
      isDown = true
      const failed = upTo(30).map((index) => send(lane, index + 101))
      const errors = await Promise.all(failed.map((one) => lane.rejection(one)))
      for (const error of errors) expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
      isDown = false
      const after = upTo(20).map((index) => send(lane, index + 201))
      await lane.settle(Promise.all(after))
      await lane.settle(lane.sender.drain())
      const { holes, floor, cursor } = await lane.snapshot()
      expect({ holes, floor }).toEqual({ holes: [], floor: cursor })
      const markers = lane.executed().filter((name) => name !== 'noop')
      expect(markers).toEqual([
        ...upTo(20).map((index) => index + 1),
        ...upTo(20).map((index) => index + 201),
      ])
    },
  )

  test('one of many fails alone: its nonce goes to the next, or to a no-op, and the words of the service are there', async () => {
    const { lane } = await openWith({
      fails: (count) =>
        count === 5 ? awsError('KMSInvalidStateException', 'the key is pending deletion') : undefined,
    })
    await using _ = lane
    const sending = upTo(40).map((index) => send(lane, index + 1))
    const ended = await lane.settle(Promise.allSettled(sending))
    const failed = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []))
    expect(failed).toHaveLength(1)
    expect(failed[0]).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(failed[0]?.message).toContain('KMSInvalidStateException: the key is pending deletion')
    await lane.settle(lane.sender.drain())
    expect((await lane.snapshot()).holes).toEqual([])
    expect(lane.executed().filter((name) => name !== 'noop')).toHaveLength(39)
  })
})
