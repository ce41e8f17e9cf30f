/** How to start a node that listens at this port of loopback. */
export type NodeCommand = (port: number) => {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
}
