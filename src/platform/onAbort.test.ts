import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { onAbort, raceAbort } from './onAbort.js'

function heard(signal: AbortSignal, amount: number) {
  const reported: number[] = []
  const offs = Array.from({ length: amount }, (_, index) => onAbort(signal, () => reported.push(index)))
  return { reported, offs }
}

describe('onAbort', () => {
  test('calls a thousand listeners through one event listener', () => {
    const controller = new AbortController()
    const { reported } = heard(controller.signal, 1_000)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort()
    expect(reported).toEqual(Array.from({ length: 1_000 }, (_, index) => index))
    controller.abort()
    expect(reported).toHaveLength(1_000)
  })

  test('does not call a removed listener, even if another listener removed it during the abort', () => {
    const controller = new AbortController()
    const offs: (() => void)[] = []
    onAbort(controller.signal, () => offs[1]?.())
    const { reported, offs: more } = heard(controller.signal, 3)
    offs.push(...more)
    more[0]!()
    controller.abort()
    expect(reported).toEqual([2])
  })

  test('keeps no event listener once all listeners are removed', () => {
    const { signal } = new AbortController()
    const { offs } = heard(signal, 3)
    for (const off of offs) off()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    heard(signal, 2)
    // This listener was removed before. Removing it again must not affect the listeners added after it.
    offs[0]!()
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })

  test('keeps the listeners of each signal apart', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const [first, second] = [heard(one.signal, 1), heard(other.signal, 1)]
    other.abort()
    expect([first.reported, second.reported]).toEqual([[], [0]])
  })
})

describe('raceAbort', () => {
  const never = new Promise<never>(() => {})

  test('settles like the promise, and leaves no listener', async () => {
    const { signal } = new AbortController()
    expect(await raceAbort(Promise.resolve(1), [undefined, signal])).toBe(1)
    await expect(raceAbort(Promise.reject(new Error('no')), [signal])).rejects.toThrow('no')
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('rejects with the reason of the signal that is aborted first', async () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const racing = raceAbort(never, [one.signal, other.signal])
    other.abort(new Error('other'))
    one.abort(new Error('one'))
    await expect(racing).rejects.toThrow('other')
    await expect(raceAbort(Promise.resolve(1), [one.signal])).rejects.toThrow('one')
    expect(getEventListeners(one.signal, 'abort')).toHaveLength(0)
  })

  test('creates the error of each rejection', async () => {
    const controller = new AbortController()
    const errorOf = (signal: AbortSignal) => new Error(`ended by ${signal.reason}`)
    const racing = [1, 2].map(() => raceAbort(never, [controller.signal], errorOf).catch((error) => error))
    controller.abort('close')
    const [first, second] = await Promise.all(racing)
    expect(first.message).toBe('ended by close')
    expect(second).not.toBe(first)
  })

  test('does not listen to the signals after one that is aborted already', async () => {
    const [reason, open] = [new Error('closed'), new AbortController()]
    await expect(raceAbort(never, [AbortSignal.abort(reason), open.signal])).rejects.toBe(reason)
    expect(getEventListeners(open.signal, 'abort')).toEqual([])
  })
})
