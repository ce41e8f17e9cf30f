import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { createOpenOnce } from './openOnce.js'

const TOOK_MS = 50
const closed = () => new Error('closed')

/** An opening that fails until the test lets it succeed, with the times of its tries. */
function openingThatFails() {
  const clock = createVirtualClock()
  const tries: number[] = []
  const node = { fails: true }
  const opening = createOpenOnce(async () => {
    tries.push(clock.now())
    await new Promise<void>((resolve) => clock.setTimer(resolve, TOOK_MS))
    if (node.fails) throw new Error('the node says no')
    return 'open'
  }, clock)
  return { clock, tries, node, opening }
}

test.each([1, 10, 1_000])(
  '%i callers that retry constantly cause at most one try in two seconds',
  async (callers) => {
    const { clock, tries, node, opening } = openingThatFails()
    const results: string[] = []
    const said = new Set<string>()
    async function askUntilOpen(periodMs: number): Promise<void> {
      for (;;) {
        try {
          results.push(await opening.open())
          return
        } catch (error) {
          said.add((error as Error).message)
          await new Promise<void>((resolve) => clock.setTimer(resolve, periodMs))
        }
      }
    }
    for (let caller = 0; caller < callers; caller++) void askUntilOpen(1 + (caller % 10))
    await clock.advance(60_000)
    // The first tries follow each other sooner, so that a momentary failure costs no time.
    expect(tries.length).toBeGreaterThan(25)
    expect(tries.length).toBeLessThanOrEqual(60_000 / 2_000 + 5)
    expect((tries[1] as number) - (tries[0] as number)).toBeLessThan(TOOK_MS + 20)
    expect([...said]).toEqual(['the node says no'])
    node.fails = false
    await clock.advance(4_000)
    expect(results).toHaveLength(callers)
  },
)

test('a call long after a failure does not wait', async () => {
  const { clock, tries, opening } = openingThatFails()
  for (let time = 0; time < 5; time++) {
    const askedMs = clock.now()
    opening.open().catch(() => {})
    expect(tries.at(-1)).toBe(askedMs)
    await clock.advance(10_000)
  }
})

test('a close ends the pause: waiting callers get the error, and there are no more tries', async () => {
  const { clock, tries, opening } = openingThatFails()
  for (let time = 0; time < 3; time++) {
    opening.open().catch(() => {})
    await clock.advance(100)
  }
  expect(tries).toHaveLength(2)
  const refused = expect(opening.started).rejects.toThrow('closed')
  expect(await opening.close(closed)).toBeUndefined()
  await refused
  await clock.advance(10_000)
  expect(tries).toHaveLength(2)
})

test('a close waits for a running try, and resolves with the opened object', async () => {
  const { clock, node, opening } = openingThatFails()
  node.fails = false
  void opening.open()
  const handedOver = opening.close(closed)
  await clock.advance(TOOK_MS)
  expect(await handedOver).toBe('open')
})
