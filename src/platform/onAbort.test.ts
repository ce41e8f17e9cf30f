import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { onAbort } from './onAbort.js'

function heard(signal: AbortSignal, amount: number) {
  const told: number[] = []
  const offs = Array.from({ length: amount }, (_, index) => onAbort(signal, () => told.push(index)))
  return { told, offs }
}

describe('onAbort', () => {
  test('a thousand that wait are told, by one listener', () => {
    const controller = new AbortController()
    const { told } = heard(controller.signal, 1_000)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort()
    expect(told).toEqual(Array.from({ length: 1_000 }, (_, index) => index))
    controller.abort()
    expect(told).toHaveLength(1_000)
  })

  test('who has called off is not told, nor who is called off by another', () => {
    const controller = new AbortController()
    const offs: (() => void)[] = []
    onAbort(controller.signal, () => offs[1]?.())
    const { told, offs: more } = heard(controller.signal, 3)
    offs.push(...more)
    more[0]!()
    controller.abort()
    expect(told).toEqual([2])
  })

  test('once all have called off, nothing listens', () => {
    const { signal } = new AbortController()
    const { offs } = heard(signal, 3)
    for (const off of offs) off()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    heard(signal, 2)
    // Called off before: it is no business of those that came after it.
    offs[0]!()
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })

  test('each signal has its own', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const [first, second] = [heard(one.signal, 1), heard(other.signal, 1)]
    other.abort()
    expect([first.told, second.told]).toEqual([[], [0]])
  })
})
