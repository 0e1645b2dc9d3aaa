import { ActionInput, ActionTextarea } from "@/parts/form/ActionInput";
import { type ActionFormProps, type ActionKind, jsonOf } from "@/parts/form/actionKind";

export const grpcAction: ActionKind = {
  blank: () => ({ target_service: "", target_method: "", parameters: "" }),
  read: ({ parameters }) => ({ parameters: jsonOf(parameters) }),
  write: (reader) => ({
    target_service: reader.text("target_service"),
    target_method: reader.text("target_method"),
    parameters: reader.object("parameters"),
  }),
  Form: GrpcForm,
};

function GrpcForm(form: ActionFormProps) {
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-2">
        <ActionInput
          form={form}
          name="target_service"
          label="Service"
          placeholder="scraper"
          hint="As named in FOLIOT_SERVICES."
        />
        <ActionInput form={form} name="target_method" label="Method" placeholder="package.Service/Method" mono />
      </div>
      <ActionTextarea form={form} name="parameters" label="Parameters (JSON)" rows={3} placeholder="{}" />
    </>
  );
}
