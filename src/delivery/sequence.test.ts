import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import {
  acknowledge,
  createSequence,
  eachLost,
  forget,
  frontierOf,
  offer,
  type Segment,
  type SegmentState,
  setMissing,
  setState,
} from './sequence.js'

const STATES: readonly SegmentState[] = ['lost', 'inFlight', 'taken', 'unanswered', 'refused']

const event = fc.oneof(
  fc.record({ do: fc.constant('offer' as const), nonce: fc.nat(6) }),
  fc.record({ do: fc.constant('state' as const), nonce: fc.nat(6), state: fc.constantFrom(...STATES) }),
  fc.record({ do: fc.constant('forget' as const), nonce: fc.nat(6) }),
  fc.record({ do: fc.constant('acknowledge' as const), confirmedTo: fc.nat(6), countedTo: fc.nat(6) }),
)

describe('the sequence', () => {
  it('keeps its tallies and its pointers in any case', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const sequence = createSequence(0)
        for (const each of events) {
          if (each.do === 'offer') offer(sequence, each.nonce, 1)
          else if (each.do === 'forget') forget(sequence, each.nonce)
          else if (each.do === 'acknowledge') acknowledge(sequence, { ...each, latest: each.confirmedTo })
          else {
            const segment = sequence.segments.get(each.nonce)
            if (segment === undefined) continue
            sequence.sentTo = Math.max(sequence.next, each.nonce + 1)
            setState(sequence, segment, each.state)
          }
          const all = [...sequence.segments.values()]
          const above = all.filter(({ nonce }) => nonce >= sequence.acknowledgedTo)
          const among = (is: (segment: Segment) => boolean) => above.filter(is).length
          expect(sequence.lost).toBe(all.filter(({ state }) => state === 'lost').length)
          expect(sequence.outstanding).toBe(
            among(({ state }) => state === 'inFlight' || state === 'taken' || state === 'unanswered'),
          )
          expect(sequence.unanswered).toBe(among(({ state }) => state === 'unanswered'))
          expect(sequence.missing).toBe(among(({ missed }) => missed))
          let frontier = sequence.acknowledgedTo
          while (frontier < sequence.next && sequence.segments.get(frontier)?.state === 'taken') frontier++
          expect(frontierOf(sequence)).toBe(frontier)
          expect(all.every(({ nonce }) => nonce >= sequence.confirmedTo && nonce < sequence.end)).toBe(true)
        }
      }),
      { numRuns: runsOf(500) },
    )
  })

  /** A sequence with this many offered and sent nonces. */
  function sent(count: number) {
    const sequence = createSequence(0)
    for (let nonce = 0; nonce < count; nonce++) offer(sequence, nonce, 1)
    sequence.sentTo = count
    return {
      sequence,
      segments: [...sequence.segments.values()] as unknown as readonly [Segment, ...Segment[]],
    }
  }

  it('marks a nonce as missing from a loss or a refusal on, through resends, until it is accepted', () => {
    for (const gone of ['lost', 'refused'] as const) {
      const { sequence, segments } = sent(2)
      const [first] = segments
      setState(sequence, first, gone)
      expect([first.missed, sequence.missing]).toEqual([true, 1])
      for (const state of ['inFlight', 'unanswered', 'inFlight', gone] as const) {
        setState(sequence, first, state)
        expect([first.missed, sequence.missing], `${gone}, then ${state}`).toEqual([true, 1])
      }
      setState(sequence, first, 'taken')
      expect([first.missed, sequence.missing]).toEqual([false, 0])
      for (const state of ['inFlight', 'unanswered'] as const) {
        setState(sequence, first, state)
        expect(first.missed, 'taken, then sent again').toBe(false)
      }
    }
  })

  it('marks a nonce as missing despite possible other bytes only on request, and counts it once', () => {
    const { sequence, segments } = sent(3)
    const [first, second] = segments
    for (const one of segments) setState(sequence, one, 'taken')
    offer(sequence, 0, 1, '0x01')
    expect([first.state, first.forced, first.missed, sequence.missing]).toEqual(['lost', true, false, 0])
    setMissing(sequence, first)
    setMissing(sequence, first)
    expect([first.missed, sequence.missing]).toEqual([true, 1])
    // Nothing is counted below the acknowledgement, but the nonce at it is.
    acknowledge(sequence, { latest: 0, confirmedTo: 0, countedTo: 1 })
    expect(sequence.missing).toBe(0)
    offer(sequence, 1, 1, '0x02')
    setMissing(sequence, second as Segment)
    expect(sequence.missing).toBe(1)
    acknowledge(sequence, { latest: 0, confirmedTo: 0, countedTo: 0 })
    expect(sequence.missing).toBe(2)
  })

  it('counts nothing as missing below the acknowledgement, and loses the nonce on request', () => {
    const { sequence, segments } = sent(2)
    const [first] = segments
    setState(sequence, first, 'taken')
    offer(sequence, 0, 1, '0x01')
    acknowledge(sequence, { latest: 0, confirmedTo: 0, countedTo: 1 })
    setMissing(sequence, first)
    expect(sequence.missing).toBe(0)
    const second = segments[1] as Segment
    setState(sequence, second, 'taken')
    setMissing(sequence, second)
    expect([second.state, sequence.lost, sequence.missing]).toEqual(['lost', 2, 1])
  })

  it('sends the same bytes once more, and only once, if others were there', () => {
    const { sequence, segments } = sent(1)
    const [first] = segments
    expect([first.sentElsewhere, first.occupied]).toEqual([false, false])
    offer(sequence, 0, 1, '0x01')
    setState(sequence, first, 'taken')
    first.occupied = true
    offer(sequence, 0, 1, '0x01')
    expect([first.state, first.occupied]).toEqual(['lost', false])
    setState(sequence, first, 'taken')
    offer(sequence, 0, 1, '0x01')
    expect(first.state).toBe('taken')
  })

  it('counts lost nonces until they are confirmed, once for each nonce', () => {
    const { sequence, segments } = sent(3)
    for (const one of segments) setState(sequence, one, 'lost')
    expect(sequence.lost).toBe(3)
    acknowledge(sequence, { latest: 2, confirmedTo: 2, countedTo: 0 })
    expect(sequence.lost).toBe(1)
    forget(sequence, 2)
    expect(sequence.lost).toBe(0)
  })

  it('moves its frontier back below a taken nonce that is lost', () => {
    const sequence = createSequence(0)
    for (const nonce of [0, 1, 2]) offer(sequence, nonce, 1)
    sequence.sentTo = 3
    const segments = [...sequence.segments.values()]
    for (const segment of segments) setState(sequence, segment, 'taken')
    expect(frontierOf(sequence)).toBe(3)
    setState(sequence, segments[1] as Segment, 'lost')
    expect(frontierOf(sequence)).toBe(1)
  })

  it('lists lost nonces in ascending order, without those acknowledged since', () => {
    const sequence = createSequence(0)
    for (const nonce of [0, 1, 2, 3, 4]) offer(sequence, nonce, 1)
    sequence.sentTo = 5
    for (const nonce of [4, 1, 2]) setState(sequence, sequence.segments.get(nonce) as Segment, 'lost')
    acknowledge(sequence, { latest: 0, confirmedTo: 0, countedTo: 2 })
    // Other bytes are sent whatever the count is.
    offer(sequence, 0, 1)
    const seen: number[] = []
    eachLost(sequence, ({ nonce }) => seen.push(nonce) > 0)
    expect(seen).toEqual([2, 4])
    setState(sequence, sequence.segments.get(0) as Segment, 'taken')
    offer(sequence, 0, 1)
    seen.length = 0
    eachLost(sequence, ({ nonce }) => seen.push(nonce) > 0)
    expect(seen).toEqual([0, 2, 4])
  })
})
