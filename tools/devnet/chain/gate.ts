/** Many readers or one writer: no read runs while anvil removes blocks. */
export type Gate = {
  read<t>(task: () => Promise<t>): Promise<t>
  /** Waits for the running readers, blocks new ones, and runs the task. At most one caller at a time. */
  alone<t>(task: () => Promise<t>): Promise<t>
}

export function createGate(): Gate {
  let inside = 0
  let closed: Promise<void> | undefined
  let emptied: (() => void) | undefined

  return {
    async read(task) {
      while (closed !== undefined) await closed
      inside += 1
      try {
        return await task()
      } finally {
        inside -= 1
        if (inside === 0) emptied?.()
      }
    },
    async alone(task) {
      let open: () => void = () => undefined
      closed = new Promise((resolve) => {
        open = resolve
      })
      try {
        if (inside > 0) {
          await new Promise<void>((resolve) => {
            emptied = resolve
          })
        }
        return await task()
      } finally {
        emptied = undefined
        closed = undefined
        open()
      }
    },
  }
}
