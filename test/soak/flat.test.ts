import { expect, test } from 'vitest'
import { flatness } from './flat.js'
import type { Sample } from './sampler.js'

const MEGABYTE = 1_024 * 1_024
const COUNT = 600

/** Samples of about an hour; omitted values are constant. */
function samples(of: (index: number) => Partial<Sample>): Sample[] {
  return Array.from({ length: COUNT }, (_, index) => ({
    atMs: index * 1_000,
    heapBytes: 50 * MEGABYTE,
    rssBytes: 100 * MEGABYTE,
    timers: 20,
    sockets: 4,
    handles: 1,
    open: 100,
    ...of(index),
  }))
}

function steep(of: (index: number) => Partial<Sample>): string[] {
  return flatness(samples(of)).flatMap(({ measured, flat }) => (flat ? [] : [measured]))
}

test('a series that is constant or falls is flat', () => {
  expect(steep(() => ({}))).toEqual([])
  expect(steep((index) => ({ heapBytes: 60 * MEGABYTE - index, timers: 40 - index / 20 }))).toEqual([])
})

test.each<[string, (index: number) => Partial<Sample>]>([
  ['heapBytes', (index) => ({ heapBytes: 50 * MEGABYTE + index * 0.05 * MEGABYTE })],
  ['timers', (index) => ({ timers: 20 + index / 10 })],
  ['sockets', (index) => ({ sockets: 4 + index / 20 })],
  ['handles', (index) => ({ handles: 1 + index / 100 })],
])('%s that grow are reported, and nothing else', (measured, grow) => {
  expect(steep(grow)).toEqual([measured])
})

test('caches that fill in the first sixth are no growth', () => {
  expect(steep((index) => ({ heapBytes: (index < COUNT / 6 ? 10 : 50) * MEGABYTE }))).toEqual([])
})

test('one peak is no growth, early or late', () => {
  for (const at of [COUNT / 5, COUNT - 1])
    expect(steep((index) => (index === at ? { heapBytes: 900 * MEGABYTE, handles: 50 } : {}))).toEqual([])
})

test('the limit is reported with the measured value', () => {
  const [heap] = flatness(samples(() => ({})))
  expect(heap).toEqual({
    measured: 'heapBytes',
    early: 50 * MEGABYTE,
    late: 50 * MEGABYTE,
    most: 50 * MEGABYTE * 1.1 + 2 * MEGABYTE,
    flat: true,
  })
})
