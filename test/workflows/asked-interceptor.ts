/** Beside the workflows in the replay's bundle: tells what they ask for, with its arguments. */
import { proxySinks, type Sinks, type WorkflowInterceptors } from '@temporalio/workflow'

export interface AskedSinks extends Sinks {
  readonly asked: {
    /** What is asked for, by a name that is its own in the run; its arguments in JSON. */
    readonly command: (of: string, args: string) => void
  }
}

const { asked } = proxySinks<AskedSinks>()
const tell = (of: string, args: readonly unknown[]) => asked.command(of, JSON.stringify(args))

export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      scheduleActivity: (input, next) => {
        tell(`activity ${input.seq} ${input.activityType}`, input.args)
        return next(input)
      },
      startChildWorkflowExecution: (input, next) => {
        tell(`child ${input.options.workflowId} ${input.workflowType}`, input.options.args)
        return next(input)
      },
      continueAsNew: (input, next) => {
        tell(`continue as new ${input.options.workflowType}`, input.args)
        return next(input)
      },
    },
  ],
})
