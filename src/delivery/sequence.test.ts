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
  it('keeps its tallies and its pointers, whatever happens', () => {
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

  it('finds its frontier again below what was taken and is lost', () => {
    const sequence = createSequence(0)
    for (const nonce of [0, 1, 2]) offer(sequence, nonce, 1)
    sequence.sentTo = 3
    const segments = [...sequence.segments.values()]
    for (const segment of segments) setState(sequence, segment, 'taken')
    expect(frontierOf(sequence)).toBe(3)
    setState(sequence, segments[1] as Segment, 'lost')
    expect(frontierOf(sequence)).toBe(1)
  })

  it('lists what is lost in ascending order, without what is acknowledged meanwhile', () => {
    const sequence = createSequence(0)
    for (const nonce of [0, 1, 2, 3, 4]) offer(sequence, nonce, 1)
    sequence.sentTo = 5
    for (const nonce of [4, 1, 2]) setState(sequence, sequence.segments.get(nonce) as Segment, 'lost')
    acknowledge(sequence, { latest: 0, confirmedTo: 0, countedTo: 2 })
    // Other bytes are sent whatever the count says.
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
