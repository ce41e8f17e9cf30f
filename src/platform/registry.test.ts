import { expect, test } from 'vitest'
import { hold } from './registry.js'

test('an entry that several hold is opened once, and stopped by the last', async () => {
  const entries = new Map<string, unknown>()
  let opened = 0
  const stopped: string[] = []
  const open = async () => ++opened
  const [a, b] = await Promise.all([hold(entries, 'lane', open), hold(entries, 'lane', open)])
  expect([a.value, b.value, opened]).toEqual([1, 1, 1])
  await a.release(() => void stopped.push('a'))
  await a.release(() => void stopped.push('a again'))
  expect(stopped).toEqual([])
  await b.release(() => void stopped.push('b'))
  expect(stopped).toEqual(['b'])
  expect(entries.size).toBe(0)
})

test('a failed opening rejects for all callers that waited for it, and is not kept', async () => {
  const entries = new Map<string, unknown>()
  const failing = async () => {
    throw new Error('closed for now')
  }
  const both = await Promise.allSettled([hold(entries, 'lane', failing), hold(entries, 'lane', failing)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect((await hold(entries, 'lane', async () => 2)).value).toBe(2)
})

test('the next opener waits until the shared object has stopped', async () => {
  const entries = new Map<string, unknown>()
  const events: string[] = []
  const first = await hold(entries, 'lane', async () => 1)
  let finish = () => {}
  const stopping = first.release(
    () =>
      new Promise<void>((resolve) => {
        finish = () => {
          events.push('stopped')
          resolve()
        }
      }),
  )
  const again = [1, 2].map(() => hold(entries, 'lane', async () => events.push('opened')))
  await Promise.resolve()
  finish()
  await stopping
  expect((await Promise.all(again)).map(({ value }) => value)).toEqual([2, 2])
  expect(events).toEqual(['stopped', 'opened'])
})

test('one that could not be stopped can be opened again', async () => {
  const entries = new Map<string, unknown>()
  const first = await hold(entries, 'lane', async () => 1)
  const stop = first.release(async () => {
    throw new Error('the store is away')
  })
  const again = hold(entries, 'lane', async () => 2)
  await expect(stop).rejects.toThrow('away')
  expect((await again).value).toBe(2)
})
