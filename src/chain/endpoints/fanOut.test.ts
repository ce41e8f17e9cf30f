import { describe, expect, test } from 'vitest'
import { openSeveral } from '../../api/sender/severalEndpoints.fixture.js'
import { nameOf, onSend, refuses, swallow, transfer } from '../../api/sender/simLane.fixture.js'

const INTRINSIC = onSend(() => refuses('invalid transaction v, r, s values'))
const FEE_TOO_LOW = onSend(() => refuses('transaction underpriced: gas tip cap 0, minimum needed 1'))

describe('bytes go to one endpoint, and to the others once they have to be sent again', () => {
  test('a transaction that the first endpoint accepts is sent to no other', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const tx = await lane.settle(sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    expect(endpoints.map(({ sent }) => sent)).toEqual([[1], []])
  })

  test('the first endpoint is silent: the others get the bytes, and are used first from then on', async () => {
    await using several = await openSeveral(['send', 'both'])
    const { lane, sender, endpoints } = several
    const [silent, other] = endpoints
    if (silent) silent.state = 'refuses'
    const tx = await lane.settle(sender.send(transfer(1)))
    await lane.settle(sender.send(transfer(2)))
    await lane.settle(tx.wait('sealed'))
    expect(silent?.sent).not.toContain(2)
    expect(other?.sent).toEqual([1, 2])
  })

  test('the first endpoint drops the bytes: after a block the others get them, and no fee is raised', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [swallowing, other] = endpoints
    if (swallowing) swallowing.script = swallow(1)
    const tx = await lane.settle(sender.send(transfer(1)))
    await lane.settle(tx.wait('sealed'))
    expect(tx.attempts).toHaveLength(1)
    expect(other?.sent).toEqual([1])
  })

  test('a transaction permanently refused by the only endpoint that saw it ends at once (row 14)', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [first, second] = endpoints
    if (first) first.script = INTRINSIC
    const error = await lane.rejection(sender.send(transfer(1)))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(second?.sent).toEqual([])
    expect(lane.executed()).toEqual([])
  })

  test('an endpoint that asks for a pause pauses alone: the others go on, in the order of nonces', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [tired, other] = endpoints
    if (tired)
      tired.script = onSend(() => ({
        ok: false,
        failure: { kind: 'http', status: 429, message: 'Too Many Requests', retryAfterMs: 60_000 },
      }))
    const txs = await lane.settle(
      Promise.all(Array.from({ length: 5 }, (_, index) => sender.send(transfer(index + 1)))),
    )
    await lane.settle(Promise.all(txs.map((tx) => tx.wait('sealed'))))
    const asked = tired?.sent.length
    await lane.settle(sender.send(transfer(6)))
    expect(tired?.sent).toHaveLength(asked ?? -1)
    const nonces = other?.raws.map(({ nonce }) => nonce) ?? []
    expect(nonces).toEqual([...nonces].sort((a, b) => a - b))
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
  })
})

describe("bytes go to every endpoint at once (broadcast: 'all')", () => {
  test('every endpoint that takes transactions gets them in the order of nonces; readers get none', async () => {
    await using several = await openSeveral(['both', 'send', 'read'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    const txs = await lane.settle(Promise.all([1, 2, 3].map((marker) => sender.send(transfer(marker)))))
    await lane.settle(Promise.all(txs.map((tx) => tx.wait('sealed'))))
    expect(endpoints.map(({ sent }) => sent)).toEqual([[1, 2, 3], [1, 2, 3], []])
  })

  test('the first acceptance wins: an endpoint that hangs delays nothing', async () => {
    await using several = await openSeveral(['both', 'both'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    const [, hanging] = endpoints
    if (hanging) hanging.state = 'hangs'
    await lane.settle(sender.send(transfer(1)), 1_000)
  })

  test.each([
    ['as intrinsic', INTRINSIC],
    ['as paying too little', FEE_TOO_LOW],
    ['as screened', onSend(() => refuses('sender account not authorized to send transactions', -32007))],
    ['as underpriced', onSend(() => refuses('replacement transaction underpriced'))],
  ])('one refuses it %s and another takes it: it is taken, not bumped, and lands', async (_, refusal) => {
    for (const order of [0, 1]) {
      await using several = await openSeveral(['both', 'both'], { broadcast: 'all' })
      const { lane, sender, endpoints } = several
      const refusing = endpoints[order]
      if (refusing) refusing.script = refusal
      const tx = await lane.settle(sender.send(transfer(1)), 1_000)
      await lane.settle(tx.wait('sealed'))
      expect(tx.attempts).toHaveLength(1)
      expect([several.events('displaced'), several.events('failed')]).toEqual([[], []])
      expect(refusing?.sent).toEqual([1])
      expect(lane.executed()).toEqual([1])
    }
  })

  test('an answer that comes after another endpoint took the bytes changes nothing: they are not sent again', async () => {
    await using several = await openSeveral(['both', 'both'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    const late = endpoints[1]
    if (late) Object.assign(late, { script: FEE_TOO_LOW, slowMs: 200 })
    const tx = await lane.settle(sender.send(transfer(1)), 100)
    await lane.clock.advance(1_000)
    expect([tx.attempts.length, late?.sent]).toEqual([1, [1]])
    await lane.settle(tx.wait('sealed'))
  })

  test('all refuse it permanently: its nonce goes to a no-op, not to another transaction, and the end is reported (P2)', async () => {
    await using several = await openSeveral(['both', 'both'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    for (const endpoint of endpoints)
      endpoint.script = onSend((tx) =>
        nameOf(tx) === 1 ? refuses('invalid transaction v, r, s values') : undefined,
      )
    const first = lane.rejection(sender.send(transfer(1)))
    const error = await first
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    for (const endpoint of endpoints) endpoint.script = undefined
    const tx = await lane.settle(sender.send(transfer(2)))
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual(['noop', 2])
  })

  test('one endpoint refuses and another does not answer: the outcome stays unknown, and no nonce is freed', async () => {
    await using several = await openSeveral(['both', 'both'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    const [refusing, silent] = endpoints
    if (refusing) refusing.script = INTRINSIC
    if (silent) silent.state = 'refuses'
    const sending = sender.send(transfer(1), { until: 'queued' })
    const tx = await lane.settle(sending)
    await lane.clock.advance(300)
    expect(tx.stage).toBe('signed')
    if (silent) silent.state = 'up'
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })
})
