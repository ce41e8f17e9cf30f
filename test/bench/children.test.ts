import { describe, expect, it } from 'vitest'
import { startChild } from '../../bench/support/children.js'

const start = (...args: readonly string[]) => startChild(new URL('slowChild.ts', import.meta.url), args)

describe('a child of a bench', () => {
  it('answers each order, even if the caller gave up on the previous one', async () => {
    await using child = start()
    expect(await child.started).toBe('ready')
    const first = child.ask('first')
    expect(await child.ask('second')).toBe('did second')
    expect(await first).toBe('did first')
  })

  it('reports the error of an order, and continues', async () => {
    await using child = start()
    await expect(child.ask('fail')).rejects.toThrow('Error: cannot')
    expect(await child.ask('more')).toBe('did more')
  })

  it('that cannot start reports that to the caller that waits and to each later caller', async () => {
    await using child = start('broken')
    await expect(child.started).rejects.toThrow('no start')
    await expect(child.ask('more')).rejects.toThrow('no start')
  })

  it('that has ended leaves no caller waiting', async () => {
    await using child = start()
    const orders = [child.ask('first'), child.ask('second'), child.ask('end')]
    const ends = await Promise.allSettled([...orders, child.ask('late')])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
    await expect(child.ask('more')).rejects.toThrow('a process ended with 7')
  })

  it('is ended whichever order it is working on', async () => {
    const child = start()
    await child.started
    const order = child.ask('first')
    order.catch(() => undefined)
    await child.kill()
    await expect(order).rejects.toThrow('a process ended with SIGKILL')
  })
})
