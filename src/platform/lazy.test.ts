import { expect, test } from 'vitest'
import { TxlaneError } from '../errors/base.js'
import { createLoader, whenLoaded } from './lazy.js'

const CODE = { name: 'the code' }

test('nothing is loaded before it is asked for, once for all who ask, and then it is there at once', async () => {
  let loads = 0
  const load = createLoader('The code', async () => {
    loads++
    return CODE
  })
  expect(loads).toBe(0)
  const [first, second] = await Promise.all([load(), load()])
  expect([first, second]).toEqual([CODE, CODE])
  expect(load()).toBe(CODE)
  expect(loads).toBe(1)
})

test('code that could not be loaded is told with a typed error, and asked for again by the next call', async () => {
  let loads = 0
  const load = createLoader('The code', async () => {
    if (++loads === 1) throw new TypeError('Failed to fetch dynamically imported module')
    return CODE
  })
  const [first, second] = await Promise.all(
    [load(), load()].map((code) => Promise.resolve(code).catch(String)),
  )
  expect(first).toBe(second)
  expect(loads).toBe(1)
  await expect(load()).resolves.toBe(CODE)

  const broken = createLoader('The code', () => Promise.reject(new TypeError('offline')))
  const error = await Promise.resolve(broken()).catch((failed: unknown) => failed)
  expect(error).toBeInstanceOf(TxlaneError)
  expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted', details: 'offline' })
})

test('code that is loaded is used in the turn of the call, and code that is not is waited for', async () => {
  const used: string[] = []
  const use = async ({ name }: typeof CODE) => void used.push(name)
  const now = whenLoaded(CODE, use)
  expect(used).toHaveLength(1)
  const later = whenLoaded(Promise.resolve(CODE), use)
  expect(used).toHaveLength(1)
  await Promise.all([now, later])
  expect(used).toHaveLength(2)
})
