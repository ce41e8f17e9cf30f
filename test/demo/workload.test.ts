import { expect, test } from 'vitest'
import { createWorkload, type GasLimits } from './workload.js'

const LEDGER = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const OTHER = '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512'
const GAS: GasLimits = { transfer: 21_000n, call: 100_000n, deployment: 300_000n, reverting: 100_000n }

const workload = (seed: number, count = 200, ledger: typeof LEDGER | typeof OTHER = LEDGER) =>
  createWorkload({ count, seed, ledger, gas: GAS })

test('the same seed gives the same burst, and another seed a different one', () => {
  expect(workload(5)).toEqual(workload(5))
  expect(workload(5)).not.toEqual(workload(6))
})

test('the data of a transaction is unique to its item and to the ledger', () => {
  const carried = [...workload(1), ...workload(1, 200, OTHER)].map(
    ({ request }) => `${request.to} ${request.data}`,
  )
  expect(new Set(carried).size).toBe(400)
})

test('items are numbered from 1 and every kind occurs, even in a small burst', () => {
  const burst = workload(3, 20)
  expect(burst.map(({ item }) => item)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  expect(new Set(burst.map(({ kind }) => kind)).size).toBe(4)
})

test('reverting items have a gas limit, and some of the others do', () => {
  const burst = workload(2)
  const given = (kind: string) =>
    burst.filter((one) => one.kind === kind).map(({ request }) => request.gas !== undefined)
  expect(new Set(given('reverting'))).toEqual(new Set([true]))
  for (const kind of ['transfer', 'call', 'deployment']) {
    expect(new Set(given(kind))).toEqual(new Set([true, false]))
  }
})
