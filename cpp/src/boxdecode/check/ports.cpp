#include "boxdecode/check/groups.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

std::string role_path(std::size_t head, Role role) { return path("params.heads", head, ".") + role_name(role); }

enum class Presence { Never, Optional, Required };

// Whether a head may, must or must not name a role, be it for a port apart or for the combined one.
Presence presence_of(Task task, const Recipe &recipe, Role role) {
  if (role == Role::Boxes || role == Role::Scores) {
    return Presence::Required;
  }
  const std::optional<PortRule> rule = recipe.port(role);
  bool used = false;
  if (rule) {
    for (const Part part : rule->parts) {
      used = used || in_task(part, task);
    }
  }
  if (!used) {
    return Presence::Never;
  }
  return rule->optional ? Presence::Optional : Presence::Required;
}

Finding check_form(const Request &request, const Recipe &recipe, std::size_t index) {
  const Head &head = request.params.heads[index];
  const Head &first = request.params.heads.front();
  const bool combined = is_combined(recipe, head);
  if (recipe.ports.empty() && !combined) {
    return invalid_parameter(role_path(index, Role::Scores),
                             role_path(index, Role::Scores) + " is port " + text(head.scores) + "; " + recipe.name +
                                 " reads one combined tensor a head: name the port of boxes, " + text(head.boxes));
  }
  if (combined != is_combined(recipe, first)) {
    return invalid_parameter(role_path(index, Role::Scores), path("params.heads", index) +
                                                                 " is combined and params.heads[0] is not, or the reverse; "
                                                                 "every head must have the same form");
  }
  for (const Role role : all_roles) {
    const std::optional<std::size_t> port = port_of(head, role);
    const Presence presence = presence_of(request.params.task, recipe, role);
    const std::string field = role_path(index, role);
    if (port && presence == Presence::Never) {
      return invalid_parameter(field, field + " is set, but " + recipe.name + " does not read it in this task; leave it empty");
    }
    if (!port && presence == Presence::Required) {
      return invalid_parameter(field, field + " is empty; " + recipe.name + " needs it in this task");
    }
    if (port.has_value() != port_of(first, role).has_value()) {
      return invalid_parameter(field, field + (port ? " is set" : " is empty") +
                                          ", unlike that of params.heads[0]; a role is on all heads or on none");
    }
    if (port && combined && *port != head.boxes) {
      return invalid_parameter(field, field + " is port " + text(*port) +
                                          "; in a combined head it must be the port of boxes, " + text(head.boxes));
    }
  }
  return std::nullopt;
}

}  // namespace

Finding check_ports(const Request &request, const Recipe &recipe) {
  const Params &params = request.params;
  const std::size_t ports = request.inputs.size();
  std::vector<std::string> users(ports);
  const auto claim = [&](std::size_t port, const std::string &field) -> Finding {
    if (port >= ports) {
      return invalid_parameter(field, field + " is port " + text(port) + "; the request has " + text(ports) + " inputs");
    }
    if (!users[port].empty()) {
      return invalid_parameter(field, field + " is port " + text(port) + ", which " + users[port] +
                                          " already names; a port serves one role only");
    }
    users[port] = field;
    return std::nullopt;
  };
  for (std::size_t index = 0; index < params.heads.size(); ++index) {
    const Head &head = params.heads[index];
    if (Finding finding = check_form(request, recipe, index)) {
      return finding;
    }
    for (const Role role : all_roles) {
      const std::optional<std::size_t> port = port_of(head, role);
      if (!port || (role != Role::Boxes && is_combined(recipe, head))) {
        continue;
      }
      if (Finding finding = claim(*port, role_path(index, role))) {
        return finding;
      }
    }
  }
  if (params.mask_prototype) {
    if (Finding finding = claim(*params.mask_prototype, "params.mask_prototype")) {
      return finding;
    }
  }
  for (std::size_t port = 0; port < ports; ++port) {
    if (users[port].empty()) {
      return invalid_parameter(path("inputs", port), path("inputs", port) + " is not named by any head; every input must be "
                                                                            "used: leave it out of the request");
    }
  }
  return std::nullopt;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
