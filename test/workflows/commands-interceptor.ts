/** An interceptor in the bundle of the replay test: reports the commands of workflows, with their arguments. */
import { proxySinks, type Sinks, type WorkflowInterceptors } from '@temporalio/workflow'

export interface CommandSinks extends Sinks {
  readonly commands: {
    /** @param name unique in the run @param args in JSON */
    readonly add: (name: string, args: string) => void
  }
}

const { commands } = proxySinks<CommandSinks>()
const report = (name: string, args: readonly unknown[]) => commands.add(name, JSON.stringify(args))

export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      scheduleActivity: (input, next) => {
        report(`activity ${input.seq} ${input.activityType}`, input.args)
        return next(input)
      },
      startChildWorkflowExecution: (input, next) => {
        report(`child ${input.options.workflowId} ${input.workflowType}`, input.options.args)
        return next(input)
      },
      continueAsNew: (input, next) => {
        report(`continue as new ${input.options.workflowType}`, input.args)
        return next(input)
      },
    },
  ],
})
