type Globals = Pick<typeof globalThis, 'setTimeout' | 'setInterval' | 'setImmediate'>

/** Counts every timer that is set, including unreferenced ones, until it is disposed. */
export function watchTimers(): Disposable & {
  set(): number
  /** A pause whose timer is not counted. */
  pause(timeMs: number): Promise<void>
} {
  const { setTimeout, setInterval, setImmediate } = globalThis
  const real: Globals = { setTimeout, setInterval, setImmediate }
  let set = 0
  function counted<t extends (...args: never[]) => unknown>(timer: t): t {
    const wrapped = (...args: Parameters<t>) => {
      set++
      return timer(...args)
    }
    return Object.assign(wrapped, timer) as unknown as t
  }
  Object.assign(globalThis, {
    setTimeout: counted(setTimeout),
    setInterval: counted(setInterval),
    setImmediate: counted(setImmediate),
  })
  return {
    set: () => set,
    pause: (timeMs) => new Promise((resolve) => void real.setTimeout(resolve, timeMs)),
    [Symbol.dispose]: () => void Object.assign(globalThis, real),
  }
}
