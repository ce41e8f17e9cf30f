import { expect, test } from 'vitest'
import { memoryStore } from '../store/memory.js'
import { settingsOf } from './options.js'
import type { OutboxOptions } from './types.js'

const given: OutboxOptions = { store: memoryStore(), name: 'orders', onStage() {} }

test('missing options have their defaults', () => {
  const { wanted, ...settings } = settingsOf(given)
  expect([...wanted]).toEqual(['sealed', 'finalized', 'failed', 'cancelled', 'superseded'])
  expect(settings).toMatchObject({
    from: 'now',
    concurrency: 8,
    timeoutMs: 30_000,
    retryMinMs: 1_000,
    retryMaxMs: 300_000,
    triesMax: Number.POSITIVE_INFINITY,
  })
  expect(settingsOf({ ...given, retryMinMs: 400_000 }).retryMaxMs).toBe(400_000)
})

const { deliveries: _, ...former } = memoryStore()

test.each<[string, unknown]>([
  ['options', 7],
  ['store', { ...given, store: undefined }],
  ['store', { ...given, store: former }],
  ['name', { ...given, name: '' }],
  ['name', { ...given, name: 'x'.repeat(101) }],
  ['onStage', { ...given, onStage: 'https://example.com' }],
  ['stages', { ...given, stages: [] }],
  ['stages', { ...given, stages: 'sealed' }],
  ['stages[1]', { ...given, stages: ['sealed', 'accepted'] }],
  ['from', { ...given, from: 0 }],
  ['chainId', { ...given, chainId: '1' }],
  ['receipts', { ...given, receipts: {} }],
  ['concurrency', { ...given, concurrency: 0 }],
  ['timeoutMs', { ...given, timeoutMs: 2 ** 31 }],
  ['retryMinMs', { ...given, retryMinMs: 0.5 }],
  ['retryMaxMs', { ...given, retryMinMs: 1_000, retryMaxMs: 999 }],
  ['triesMax', { ...given, triesMax: 0 }],
  ['logger', { ...given, logger: {} }],
  ['options.onStages', { ...given, onStages() {} }],
])('an invalid %s is INVALID, and the error names it', (argument, options) => {
  const make = () => settingsOf(options as OutboxOptions)
  expect(make).toThrow(argument)
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID', fate: 'notExecuted' }))
})
